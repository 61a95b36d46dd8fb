import { isDeepStrictEqual } from 'node:util'
import type { Column, Table } from '../datamodel/model.ts'
import type { Actor } from '../platform/actor.ts'
import { type AppError, badRequest } from '../platform/errors.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { isRecord } from '../platform/values/records.ts'
import { cancelButton, type Task } from '../platform/values/tasks.ts'
import { assertStorable } from '../platform/values/text.ts'
import type { JanitorPolicy } from './model.ts'

/** Readers of the settings that files and janitors use. Each takes the value as sent, and its path for errors. */

type Fields = Record<string, unknown>

const gravities = ['nw', 'n', 'ne', 'w', 'c', 'e', 'sw', 's', 'se', '']

/** The watermark of images. */
export function readWatermark(value: unknown, path: string): Fields {
  const sent = record(value, path)
  const { image, gravity, dissolve, size, tile } = sent
  if (gravity !== undefined && !gravities.includes(gravity as string)) {
    throw wrong(`${path}.gravity`, gravity, `one of ${gravities.filter(Boolean).join(', ')} or empty`)
  }
  if (dissolve !== undefined && !isCount(dissolve, 100)) throw wrong(`${path}.dissolve`, dissolve, '0 to 100')
  if (size !== undefined && !matches(size, sizes)) {
    throw wrong(`${path}.size`, size, 'a size such as 200, 30%, 200x100 or 20%x10%')
  }
  if (tile !== undefined && typeof tile !== 'boolean') throw wrong(`${path}.tile`, tile, 'true or false')
  if (image !== undefined && image !== null && !isCount(record(image, `${path}.image`)._id)) {
    throw wrong(`${path}.image._id`, record(image, path)._id, 'the id of a file')
  }
  // Only the id of the file is stored: other members may have been copied from its record.
  const chosen = image ? { image: { _id: (image as Fields)._id } } : image === null ? { image } : {}
  return { ...defined({ gravity, dissolve, size, tile }), ...chosen }
}

const sizes = /^(|[1-9]\d{0,4}|([1-9]\d?|100)%|[1-9]\d{0,4}x[1-9]\d{0,4}|([1-9]\d?|100)%x([1-9]\d?|100)%)$/

function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** The file with the picture of a watermark; null: there is none. */
function watermarkImage(watermark: Fields | undefined): number | null {
  const image = watermark?.image as { readonly _id: number } | null | undefined
  return image?._id ?? null
}

/** The functions of the files capability for saves of watermarks and captions. */
export interface MarkKeepers<Scope> {
  /** Whether there are renditions with a changed watermark or caption. */
  concerned(tx: Tx, scope: Scope): Promise<boolean>
  /** Creates them again, after the save. */
  renew(tx: Tx, actor: Actor): Promise<unknown>
  /** Registers pictures of watermarks as used, so that they are kept. @throws {AppError} when the actor may not use one. */
  hold(tx: Tx, actor: Actor, held: readonly HeldImages[]): Promise<void>
}

interface HeldImages {
  readonly holder: { readonly pool: number } | { readonly objecttype: number }
  readonly files: readonly { readonly id: number; readonly path: string; readonly known: boolean }[]
}

/** The picture of a watermark after the save. */
export function heldImages(
  holder: HeldImages['holder'],
  watermarks: { readonly before: Fields | undefined; readonly after: Fields | undefined },
  path: string,
): HeldImages {
  const id = watermarkImage(watermarks.after)
  const known = id !== null && id === watermarkImage(watermarks.before)
  return { holder, files: id === null ? [] : [{ id, path: `${path}.watermark.image._id`, known }] }
}

/** The question when a save changes watermarks or captions of renditions. */
export function renditionsTask(): Task {
  return {
    title: 'Renditions',
    message:
      'Watermark or captions change, and there are files that may bear them. Are their renditions to be made anew?',
    buttons: [
      { text: 'Save, and make them anew', name: 'confirm', value: 'resync' },
      { text: 'Save only', name: 'confirm', value: 'skip' },
      cancelButton,
    ],
  }
}

/** Texts on images, by the file field of the image: a field of `table`, or (null) of any object type. */
export function readCaption(value: unknown, path: string, table: Table | null): Fields {
  const sent = record(value, path)
  for (const [name, each] of Object.entries(sent)) {
    const place = `${path}.${name}`
    if (table && !fileField(table, name)) {
      throw badRequest(`${place}: ${table.name} has no such file field`, { path: place, field: name, value: name })
    }
    const { text, size, padding, multiline, overlay } = record(each, place)
    if (text !== undefined && typeof text !== 'string') throw wrong(`${place}.text`, text, 'a text')
    if (size !== undefined && !matches(size, /^([1-9]\d{0,4}|([1-9]|[1-4]\d|50)%)$/)) {
      throw wrong(`${place}.size`, size, 'pixels or 1% to 50%')
    }
    if (padding !== undefined && !matches(padding, /^(0|[1-9]\d{0,4})$/)) {
      throw wrong(`${place}.padding`, padding, 'pixels')
    }
    for (const [key, flag] of Object.entries({ multiline, overlay })) {
      if (flag !== undefined && typeof flag !== 'boolean') throw wrong(`${place}.${key}`, flag, 'true or false')
    }
  }
  assertStorable(sent, path)
  return sent
}

/** The file field of that name: a column, or the name that search uses (`artwork._nested:artwork__image.file`). */
export function fileField(table: Table, name: string): Column | undefined {
  return fileFields(table).find(
    (column) => column.fullName === name || (column.table === table && column.name === name),
  )
}

/** File fields of an object type and its nested tables. Reverse objects have their own file fields. */
export function fileFields(table: Table): Column[] {
  return [...table.columns.filter((column) => column.type === 'eas'), ...table.nested.flatMap(fileFields)]
}

/**
 * The deletion of old data and its periods. Periods before a final deletion are at least 1 day, so that a mistake cannot delete
 * objects that were just moved to the trash.
 */
export function readJanitorPolicy(value: unknown, path: string): JanitorPolicy {
  const sent = record(value, path)
  const links = block(sent, 'file_link_delete', path)
  const purge = block(sent, 'object_purge', path)
  return {
    ...(links
      ? {
          file_link_delete: {
            keep_days_history_versions: bound(links, ['keep_days_history_versions'], 0),
            keep_count: bound(links, ['keep_count', 'keep_count_history_versions'], 0),
            min_object_deleted_days: bound(links, ['min_object_deleted_days'], 1),
          },
        }
      : {}),
    ...(purge ? { object_purge: { min_deleted_days: bound(purge, ['min_deleted_days'], 1) } } : {}),
  }
}

interface Block {
  readonly fields: Fields
  readonly path: string
}

function block(sent: Fields, name: string, path: string): Block | null {
  const value = sent[name]
  return value === undefined || value === null
    ? null
    : { fields: record(value, `${path}.${name}`), path: `${path}.${name}` }
}

/** The first of the members that is set; null: no limit. */
function bound({ fields, path }: Block, names: readonly string[], least: number): number | null {
  const name = names.find((candidate) => fields[candidate] !== undefined && fields[candidate] !== null)
  if (name === undefined) return null
  const value = fields[name]
  if (!isCount(value) || Number(value) < least)
    throw wrong(`${path}.${name}`, value, `null or an integer from ${least}`)
  return Number(value)
}

export function record(value: unknown, path: string): Fields {
  if (isRecord(value)) return value
  throw wrong(path, value, 'an object')
}

function isCount(value: unknown, most = 1_000_000_000): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= most
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value)
}

export function wrong(path: string, value: unknown, expected: string): AppError {
  return badRequest(`${path} must be ${expected}`, { path, value, expected })
}

interface Captioned {
  readonly caption?: unknown
  readonly caption_set_by?: number
}

/** A caption shows data with the read rights of its setter: the user who last changed it. */
export function withCaptionSetter<T extends Captioned>(previous: Captioned, next: T, userId: number): T {
  const { caption_set_by: _, ...settings } = next
  if (next.caption === undefined) return settings as T
  const setBy = isDeepStrictEqual(next.caption, previous.caption) ? previous.caption_set_by : userId
  return (setBy === undefined ? settings : { ...settings, caption_set_by: setBy }) as T
}
