import type { Column } from '../../../datamodel/model.ts'
import { AppError } from '../../../platform/errors.ts'
import { coversFile } from '../../../rights/service.ts'
import { type FileEntry, filesByColumn, forEachFileList } from '../../content/file-links.ts'
import { invalidValue } from '../../content/values.ts'
import type { LinkableFile, SaveContext } from '../context.ts'
import { guarded } from '../disclosure.ts'
import { guardAfter, guardBefore, type Item } from '../item.ts'

interface Introduced {
  readonly item: Item
  readonly column: Column
  readonly id: number
}

/**
 * Checks the files of a save: resolves references. A file that is new in a column must exist, and the caller must be allowed to add
 * it: as its uploader, or with the right to download it from another object. Files of the committed version may stay. The answer is
 * the same for a file that does not exist and for one that the caller may not add, so that no caller can find out which numbers are
 * files.
 */
export async function checkFiles(context: SaveContext, items: readonly Item[]): Promise<void> {
  const named = await resolveReferences(context, items)
  const introduced: Introduced[] = []
  for (const item of items) {
    if (context.yielder.due()) await context.yielder.yield()
    if (!item.draft) continue
    const before = item.current ? filesByColumn(item.table, item.current.content) : new Map<Column, Set<number>>()
    const after = filesByColumn(item.table, item.content)
    for (const [column, ids] of after) {
      for (const id of ids) if (!before.get(column)?.has(id)) introduced.push({ item, column, id })
    }
    for (const [column, ids] of before) {
      const taken = [...ids].find((id) => !after.get(column)?.has(id))
      if (taken !== undefined) assertMayTake(context, item, column)
    }
  }
  await assertLinkable(context, introduced)
  // Behind the rights: which reference and which number are the same file is for callers who may use it.
  for (const list of named) assertEachOnce(list)
}

async function assertLinkable(context: SaveContext, introduced: readonly Introduced[]): Promise<void> {
  if (introduced.length === 0) return
  const ids = [...new Set(introduced.map(({ id }) => id))]
  const linkable = await context.deps.files.linkable(context.tx, context.actor, ids)
  for (const one of introduced) {
    const file = linkable.get(one.id)
    if (!file) throw noFile(context, one.item, one.column, { _id: one.id })
    assertMayAdd(context, one, file)
  }
}

interface FileList {
  readonly item: Item
  readonly column: Column
  readonly files: readonly FileEntry[]
}

/** Puts the ids of files in place of their references. Returns the lists that have any. */
async function resolveReferences(context: SaveContext, items: readonly Item[]): Promise<readonly FileList[]> {
  const { deps, tx, yielder, rights } = context
  const waiting: { readonly item: Item; readonly column: Column; readonly entry: FileEntry }[] = []
  const lists: FileList[] = []
  for (const item of items) {
    if (yielder.due()) await yielder.yield()
    if (!item.draft) continue
    forEachFileList(item.table, item.content, (column, files) => {
      const named = files.filter((entry) => entry._reference !== undefined)
      if (named.length === 0) return
      lists.push({ item, column, files })
      for (const entry of named) waiting.push({ item, column, entry })
    })
  }
  if (waiting.length === 0) return []
  const references = waiting.map(({ entry }) => entry._reference as string)
  const found = await deps.files.byReference(tx, [...new Set(references)])
  for (const { item, column, entry } of waiting) {
    const reference = entry._reference as string
    // Root may know which references there are. To others, an early refusal would tell that those before it exist.
    if (rights.root && !found.has(reference)) throw noFile(context, item, column, { reference })
    // 0 is no file: it is refused like a file that the caller may not add.
    entry._id = found.get(reference) ?? 0
    delete entry._reference
  }
  return lists
}

function assertEachOnce({ item, column, files }: FileList): void {
  if (new Set(files.map(({ _id }) => _id)).size === files.length) return
  throw invalidValue(`${item.place}.${column.fullName}`, files, 'each file once')
}

function noFile(
  { rights }: SaveContext,
  item: Item,
  column: Column,
  sought: { readonly _id: number } | { readonly reference: string },
): AppError {
  const field = column.fullName
  if (rights.root) {
    const which = '_id' in sought ? sought._id : `of the reference ${sought.reference.slice(0, 100)}`
    const message = `${item.place}: there is no file ${which} for ${field}`
    return new AppError('LookupNotFound', { name: item.place, field, ...sought }, { message })
  }
  return new AppError(
    'ObjectInsufficientRights',
    { name: item.place, right: 'asset_download', field, objecttype: item.table.name },
    { message: `${item.place}: a file of ${field} does not exist, or the right to use it is missing` },
  )
}

/** The right `asset_upload` on the object, for a file of this class, extension and size in this column. */
function assertMayAdd({ rights }: SaveContext, { item, column }: Introduced, file: LinkableFile): void {
  const { class: kind, extension, size } = file
  const asked = { class: kind, extension, size, columnId: column.id }
  const covers = rights.itemsOn('asset_upload', guarded(guardAfter(item))).some((grant) => coversFile(grant, asked))
  if (covers) return
  throw missing(item, column, `files of this kind may not be put into ${column.fullName}`)
}

/** Replacing or removing files requires `allow_update_and_remove` of the right, or ownership of the object. */
function assertMayTake({ rights }: SaveContext, item: Item, column: Column): void {
  const object = guarded(guardBefore(item))
  if (rights.root || rights.rightsOn(object).owner !== undefined) return
  const grants = rights.itemsOn('asset_upload', object)
  const covers = (grant: (typeof grants)[number]): boolean =>
    grant.allow_update_and_remove === true && (grant.column_ids?.includes(column.id) ?? true)
  if (!grants.some(covers)) throw missing(item, column, `files may not be taken out of ${column.fullName}`)
}

function missing(item: Item, column: Column, what: string): AppError {
  return new AppError(
    'ObjectInsufficientRights',
    { name: item.place, right: 'asset_upload', field: column.fullName, objecttype: item.table.name },
    { message: `${item.place}: ${what}` },
  )
}
