/** Finds the file that a link names: files are searched in the object as its caller may read it. */
import type { Column, Mask, MaskField } from '../datamodel/model.ts'
import { fileLists, type ObjectTree, type Wire } from '../objects/service.ts'
import type { DeepLink, FileSelector } from './path.ts'

/** A file as a value of an object; if the caller may not see the file, it has only these members. */
export interface FileWire extends Wire {
  readonly _id: number
  readonly preferred?: boolean
  readonly reference?: string | null
}

/** The files of a column; for a column of a nested table, those of all rows. */
export interface FileColumn {
  /** Names for the column in a link. */
  readonly names: readonly string[]
  readonly files: readonly FileWire[]
}

/** Columns for files in the order of the mask, with their files. */
export function fileColumns(mask: Mask, { fields }: ObjectTree): FileColumn[] {
  const lists = Map.groupBy(fileLists(fields), ({ column }) => column.id)
  return columnsIn(mask.fields).map((column) => {
    const within = column.fullName.slice(mask.table.name.length + 1)
    const plain = within.slice(within.lastIndexOf(':') + 1)
    const names = [...new Set([within, plain, column.fullName])]
    const files = (lists.get(column.id) ?? []).flatMap((list) => list.files)
    return { names, files: files.map(({ wire }) => wire as FileWire) }
  })
}

function columnsIn(fields: readonly MaskField[]): Column[] {
  return fields.flatMap((field) => {
    if (field.mode === 'off' || field.kind === 'reverse') return []
    if (field.kind === 'nested') return columnsIn(field.fields)
    return field.column.type === 'eas' ? [field.column] : []
  })
}

/** The preview files of the object, by their levels. */
export function standardFiles(object: Wire): FileWire[] {
  const { eas = {} } = (object._standard ?? {}) as { readonly eas?: Readonly<Record<string, readonly FileWire[]>> }
  const files = Object.entries(eas)
    .sort(([a], [b]) => Number(a) - Number(b))
    .flatMap(([, list]) => list)
  return [...new Map(files.map((file) => [file._id, file])).values()]
}

/** `no column`: the mask shows no column with that name. `no file`: there is none at that place. */
export type ChosenFile = { readonly kind: 'file'; readonly id: number } | { readonly kind: 'no column' | 'no file' }

export function chooseFile(
  { file, browser }: Pick<DeepLink, 'file' | 'browser'>,
  mask: Mask,
  tree: ObjectTree,
): ChosenFile {
  const columns = fileColumns(mask, tree)
  const list = listOf(file, columns, tree.wire)
  if (!list) return { kind: 'no column' }
  const wanted =
    browser === null ? list.at : browser === 'preferred' ? preferredOf(list.files) : list.files[browser - 1]
  return wanted ? { kind: 'file', id: wanted._id } : { kind: 'no file' }
}

interface FileList {
  /** The files that the file browser shows. */
  readonly files: readonly FileWire[]
  /** The file named by the file selector. */
  readonly at: FileWire | undefined
}

/** null: there is no such column. */
function listOf(selector: FileSelector | null, columns: readonly FileColumn[], object: Wire): FileList | null {
  if (selector === null) {
    const [first] = columns
    return first ? { files: first.files, at: preferredOf(first.files) } : null
  }
  if (selector.by === 'column') {
    const column = columns.find(({ names }) => names.includes(selector.column))
    return column ? { files: column.files, at: column.files[selector.n - 1] } : null
  }
  const all = columns.flatMap(({ files }) => files)
  const at = fileAt(selector, all, object)
  const own = at && columns.find(({ files }) => files.some(({ _id }) => _id === at._id))
  return { files: own?.files ?? [], at }
}

function preferredOf(files: readonly FileWire[]): FileWire | undefined {
  return files.find(({ preferred }) => preferred === true) ?? files[0]
}

function fileAt(
  selector: Exclude<FileSelector, { readonly by: 'column' }>,
  all: readonly FileWire[],
  object: Wire,
): FileWire | undefined {
  switch (selector.by) {
    case 'standard':
      return standardFiles(object)[selector.n - 1]
    case 'all':
      return all[selector.n - 1]
    case 'id':
      return all.find(({ _id }) => _id === selector.id)
    case 'reference':
      return all.find(({ reference }) => reference === selector.reference)
  }
}
