import type { ColumnField } from '../../../datamodel/model.ts'
import type { FileEntry } from '../../content/file-links.ts'
import { invalidValue, isRecord, storedValue } from '../../content/values.ts'
import type { Content } from '../../stored/content.ts'
import type { ChangeFiles } from './model.ts'

type Fields = Readonly<Record<string, unknown>>

/** Reads an operation on a list of files. Files are named by `_id`: what a reference names is known later. */
export function fileEdit(
  { column }: ColumnField,
  op: ChangeFiles['op'],
  one: Fields,
  at: string,
): Omit<ChangeFiles, 'path'> {
  if (one.unless_present !== undefined) {
    throw invalidValue(`${at}.unless_present`, one.unless_present, 'absent: a file that is there is not added again')
  }
  const list = (name: 'values' | 'with'): FileEntry[] => filesAt(column, one[name], `${at}.${name}`)
  const kind = { kind: 'files', column, op, place: at } as const
  if (op === 'append' || op === 'prepend') return { ...kind, named: new Set(), added: list('values') }
  const named = new Set(list('values').map(({ _id }) => _id))
  return { ...kind, named, added: op === 'replace' ? list('with') : [] }
}

function filesAt(column: ColumnField['column'], value: unknown, at: string): FileEntry[] {
  if (!Array.isArray(value) || value.length === 0) throw invalidValue(at, value, 'a list of at least one')
  for (const [index, entry] of value.entries()) {
    const id = isRecord(entry) ? entry._id : undefined
    if (id === undefined) throw invalidValue(`${at}.${index}`, entry, 'a file with its _id')
  }
  const files = storedValue(column, value, at) as FileEntry[]
  // Which one is preferred in the end is said by the whole list.
  const preferred = value.findIndex((entry) => isRecord(entry) && entry.preferred === true)
  return files.map((file, index) => ({ ...file, preferred: index === preferred }))
}

/** The content with another list of files; the same where nothing changes. */
export function withFiles(content: Content, { column: { key }, op, named, added }: ChangeFiles): Content {
  const before = (content[key] ?? []) as readonly FileEntry[]
  const first = before.findIndex(({ _id }) => named.has(_id))
  const left = before.filter(({ _id }) => !named.has(_id))
  if (first === -1 && (op === 'remove' || op === 'replace')) return content
  const there = new Set(left.map(({ _id }) => _id))
  // Each object has entries of its own.
  const fresh = added.filter(({ _id }) => !there.has(_id)).map((file) => ({ ...file }))
  if (fresh.length === 0 && left.length === before.length) return content
  const at = op === 'prepend' ? 0 : op === 'replace' ? first : left.length
  const after = preferringOne([...left.slice(0, at), ...fresh, ...left.slice(at)], fresh)
  const { [key]: _, ...rest } = content
  return after.length === 0 ? rest : { ...rest, [key]: after }
}

/** One that comes and is preferred takes the place of the one that was; where none is, it is the first. */
function preferringOne(files: readonly FileEntry[], fresh: readonly FileEntry[]): FileEntry[] {
  const [first] = files
  const chosen = fresh.find(({ preferred }) => preferred) ?? files.find(({ preferred }) => preferred) ?? first
  return files.map((file) => (file.preferred === (file === chosen) ? file : { ...file, preferred: file === chosen }))
}
