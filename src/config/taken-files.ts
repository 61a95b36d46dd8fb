/**
 * Settings that are files whose content the service needs all the time. The content is read when the file is set, and stored with
 * its id. Contents of files never change, and no start or page has to wait for a storage location.
 */
import { isRecord } from '../platform/values/records.ts'
import { type Field, type TakenContent, type Taking, wrong } from './fields/field.ts'
import { file } from './fields/values.ts'

interface TakenFile<Value> extends Taking {
  /** The stored content as the code sees it; null: there is no file. */
  readonly read: (kept: string | null) => Value
}

/** A file whose content is stored with the setting; clients see only the file. */
export function takenFile<Value>({ mostBytes, take, read }: TakenFile<Value>): Field<Value> {
  const inner = file()
  return {
    type: inner.type,
    default: null,
    more: inner.more,
    taking: { mostBytes, take },
    check(wire, path, stored) {
      const checked = inner.check(wire, path, undefined) as Record<string, unknown>
      const kept = isRecord(stored) && stored._id === checked._id ? stored.kept : undefined
      return typeof kept === 'string' ? { ...checked, kept } : checked
    },
    read: (wire) => read(isRecord(wire) && typeof wire.kept === 'string' ? wire.kept : null),
    show(wire) {
      if (!isRecord(wire)) return wire
      const { kept: _, ...shown } = wire
      return shown
    },
  }
}

/** Gives settings access to their files. */
export interface SettingFiles {
  /**
   * Registers the files of a section as used, as long as it refers to them.
   * @throws {AppError} for files that the actor may not use.
   */
  hold(section: string, files: readonly HeldFile[]): Promise<void>
  /** Contents by id; absent: there is no such file, null: it is larger than `mostBytes`. */
  contents(ids: readonly number[], mostBytes: number): Promise<ReadonlyMap<number, TakenContent | null>>
}

interface HeldFile {
  readonly id: number
  readonly path: string
  /** Whether the setting referred to it before. */
  readonly known: boolean
}

interface Named {
  readonly value: Record<string, unknown>
  readonly taking: Taking
  readonly path: string
}

/**
 * Reads the files that changed sections newly refer to, and puts their contents into the sections.
 * @throws {AppError} `ServerGeneric` with the path of the setting
 */
export async function takeFiles(
  files: SettingFiles,
  changed: ReadonlyMap<string, Record<string, unknown>>,
  fieldOf: (section: string) => Field<unknown> | undefined,
): Promise<void> {
  for (const [section, value] of changed) {
    const field = fieldOf(section)
    if (!field || !takes(field)) continue
    const named = filesIn(field, value, `system/config/${section}`)
    const held = named.map(({ value: { _id, kept }, path }) => ({ id: _id as number, path, known: kept !== undefined }))
    await files.hold(section, held)
    await readFiles(
      files,
      named.filter(({ value: { kept } }) => kept === undefined),
    )
  }
}

async function readFiles(files: SettingFiles, named: readonly Named[]): Promise<void> {
  if (named.length === 0) return
  const mostBytes = Math.max(...named.map(({ taking }) => taking.mostBytes))
  const contents = await files.contents(
    named.map(({ value }) => value._id as number),
    mostBytes,
  )
  for (const { value, taking, path } of named) {
    const content = contents.get(value._id as number)
    if (content === undefined) throw wrong(path, 'the id of a file')
    if (content === null || content.bytes.length > taking.mostBytes) {
      throw wrong(path, `a file of at most ${taking.mostBytes} bytes`)
    }
    const taken = taking.take(content)
    if ('expected' in taken) throw wrong(path, taken.expected)
    value.kept = taken.kept
  }
}

/** Whether a field is such a file or contains one. */
function takes({ taking, members, row }: Field<unknown>): boolean {
  return taking !== undefined || (row !== undefined && takes(row)) || Object.values(members ?? {}).some(takes)
}

function filesIn(field: Field<unknown>, value: unknown, path: string): Named[] {
  const { taking, members, row } = field
  if (taking && isRecord(value)) return [{ value, taking, path }]
  if (row && Array.isArray(value)) return value.flatMap((item, index) => filesIn(row, item, `${path}/${index}`))
  if (!members || !isRecord(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const member = Object.hasOwn(members, name) ? members[name] : undefined
    return member ? filesIn(member, inner, `${path}/${name}`) : []
  })
}
