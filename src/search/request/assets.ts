/** `_linked._asset.…`: searches data of files in all file columns of the searched object types. */
import type { Table } from '../../datamodel/model.ts'
import type { FieldCatalogue, SearchField } from '../plan/fields.ts'
import { fileFieldKinds } from '../plan/file-fields.ts'
import type { Clause } from '../plan/plan.ts'
import { and, or } from './clauses.ts'
import { unknownField } from './names.ts'

const start = '_linked._asset.'

interface AssetContext {
  readonly fields: FieldCatalogue
  /** The searched object types. */
  readonly objecttypes: readonly Table[]
}

/**
 * The fields that the name covers, possibly none. `null`: the name does not begin with `_linked._asset.`.
 * @throws {AppError} `SearchFieldUnknown`
 */
export function assetFields(written: string, { fields, objecttypes }: AssetContext): readonly SearchField[] | null {
  if (!written.startsWith(start)) return null
  const rest = written.slice(start.length)
  if (rest !== '_id' && !fileFieldKinds.some(({ name }) => name === rest)) {
    const names = ['_id', ...fileFieldKinds.map(({ name }) => name)]
    throw unknownField(
      written,
      names.map((name) => `${start}${name}`),
    )
  }
  const types = objecttypes.flatMap((table) => fields.types.get(table.id) ?? [])
  if (rest === '_id') return types.flatMap(({ files }) => files)
  return types.flatMap(({ all }) => all.filter(({ part }) => part?.fileValues && part.name === rest))
}

/** Replaces each `_linked._asset.…` name by the names of the fields that it covers. */
export function expandAssets(names: readonly string[], context: AssetContext): readonly string[] {
  return names.flatMap((name) => assetFields(name, context)?.map((field) => field.name) ?? [name])
}

/** Objects that can have such a value, and have none in any of the columns. */
export function noneOf(fields: readonly SearchField[]): Clause {
  const byType = Map.groupBy(fields, (field) => field.column.table.root)
  return or([...byType.values()].map((own) => and(own.map((field): Clause => ({ is: 'empty', field })))))
}
