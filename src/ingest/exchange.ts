/** Replaces a file of an object by another one, or removes it. */
import type { Column, Mask, Model } from '../datamodel/model.ts'
import type { ReadService } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import { type FileInColumn, filesIn, sendable } from './file-list.ts'
import type { Wire } from './model.ts'

/** The place of a file. */
export interface FilePlace {
  readonly systemObjectId: number
  readonly columnId: number
  readonly fileId: number
}

export interface Exchange {
  readonly objecttype: string
  readonly id: number
  readonly version: number
  /** For `PATCH`. */
  readonly payload: Wire
  /** Number of files that the column has afterwards, in all rows. */
  readonly left: number
}

/**
 * The object to be saved, with `by` in place of the file, or (null) without it. A row that contained only the file is
 * removed.
 * @throws {AppError} `ResourceNotFound` where the object does not have the file, as far as the actor sees it
 */
export async function exchangeFile(
  {
    read,
    model,
    mask,
  }: { readonly read: Pick<ReadService, 'stream'>; readonly model: Model; readonly mask: Mask | null },
  actor: Actor,
  { systemObjectId, columnId, fileId }: FilePlace,
  by: number | null,
  deadline: Deadline,
): Promise<Exchange> {
  const column = model.columnsById.get(columnId)
  const gone = () => new AppError('ResourceNotFound', { file: fileId })
  if (!column) throw gone()
  const { root } = column.table
  const shown = mask?.table === root ? mask : root.preferredMask
  const [object] = await Array.fromAsync(
    read.stream(actor, [systemObjectId], { format: 'standard', mask: shown }, deadline),
  )
  const block = (object?.[root.name] ?? {}) as Wire
  const values = exchanged(column, block, fileId, by)
  if (!values || typeof block._id !== 'number') throw gone()
  const { _id: id, _version: version } = block as { _id: number; _version: number }
  return {
    objecttype: root.name,
    id,
    version,
    payload: {
      _objecttype: root.name,
      _mask: shown.name,
      _comment: 'Change in a shared folder',
      [root.name]: { _id: id, _version: version, ...values.block },
    },
    left: values.left,
  }
}

function exchanged(column: Column, block: Wire, fileId: number, by: number | null) {
  const { table, name } = column
  if (table === table.root) {
    const list = filesIn(block[name])
    if (!list.some(({ _id }) => _id === fileId)) return null
    const after = replaced(list, fileId, by)
    return { block: { [name]: after }, left: after.length }
  }
  const rows = (Array.isArray(block[table.wireKey]) ? block[table.wireKey] : []) as Wire[]
  const at = rows.findIndex((row) => filesIn(row[name]).some(({ _id }) => _id === fileId))
  const row = rows[at]
  if (!row) return null
  const changed = { ...row, [name]: replaced(filesIn(row[name]), fileId, by) }
  const after = isBare(changed, column) ? rows.toSpliced(at, 1) : rows.with(at, changed)
  const left = after.reduce((sum, each) => sum + filesIn(each[name]).length, 0)
  return { block: { [table.wireKey]: after }, left }
}

function replaced(list: readonly FileInColumn[], fileId: number, by: number | null): Wire[] {
  const left = by === null ? list.filter(({ _id }) => _id !== fileId) : list
  return sendable(left.map((file) => (file._id === fileId && by !== null ? { ...file, _id: by } : file)))
}

/** Whether a row has no values left. */
function isBare(row: Wire, { table }: Column): boolean {
  const keys = [...table.columns.map(({ name }) => name), ...table.nested.map(({ wireKey }) => wireKey)]
  return keys.every((key) => isEmpty(row[key]))
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
