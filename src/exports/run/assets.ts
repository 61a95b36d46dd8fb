/** The exported files of an object, and their versions. */
import { readCustomVersion } from '../../config/service.ts'
import type { Column, Table } from '../../datamodel/model.ts'
import type { ExportBody, ExportVersion } from '../schema.ts'

export type Wire = Readonly<Record<string, unknown>>

/** A version of a file of an object that is exported. */
export interface PlannedAsset {
  readonly column: Column
  readonly file: Wire
  /** The version of the file: the exported one, or its source. */
  readonly version: Wire
  readonly wanted: ExportVersion
}

/** The files of an object to be exported, and the missing ones. */
export interface AssetPlan {
  readonly assets: readonly PlannedAsset[]
  readonly missing: readonly string[]
}

const original: readonly ExportVersion[] = [{ type: 'original' }]

export function planAssets(body: ExportBody, object: Wire, table: Table): AssetPlan {
  const assets: PlannedAsset[] = []
  const missing: string[] = []
  for (const { column, files } of filesIn(table, object[table.name] as Wire | undefined)) {
    for (const { file, versions } of chosen(body, column, files)) {
      for (const wanted of versions) {
        const found = versionFor(file, wanted)
        if (found === null) continue
        if (typeof found === 'string') missing.push(`${object._global_object_id}: file ${file._id}: ${found}`)
        else assets.push({ column, file, version: found, wanted })
      }
    }
  }
  return { assets, missing }
}

interface FilesOfColumn {
  readonly column: Column
  readonly files: readonly Wire[]
}

/** Lists of files in a block, and in the rows of its nested tables. */
function filesIn(table: Table, block: Wire | undefined): FilesOfColumn[] {
  if (!block) return []
  const own = table.columns.flatMap((column) => {
    const files = column.type === 'eas' ? block[column.name] : undefined
    return Array.isArray(files) ? [{ column, files: files as Wire[] }] : []
  })
  const below = table.nested.flatMap((nested) => {
    const rows = block[nested.wireKey]
    return Array.isArray(rows) ? rows.flatMap((row) => filesIn(nested, row as Wire)) : []
  })
  return [...own, ...below]
}

/**
 * Rules for single files have precedence. If a list has such a rule, its other files are exported only if they are
 * preferred. Without rules, the column decides whether its files are exported: all of them, or only preferred ones.
 */
function chosen(body: ExportBody, column: Column, files: readonly Wire[]) {
  const own =
    body.eas_fields && Object.hasOwn(body.eas_fields, column.fullName) ? body.eas_fields[column.fullName] : undefined
  if (!own) return []
  const ruleOf = ({ _id }: Wire) => {
    const rules = body.assets ?? {}
    return Object.hasOwn(rules, `${_id}`) ? rules[`${_id}`] : undefined
  }
  const ruled = files.some((file) => ruleOf(file) !== undefined)
  return files.flatMap((file) => {
    const rule = ruleOf(file)
    if (rule === false) return []
    if (typeof rule === 'object') return [{ file, versions: rule.versions ?? usual(body, file) }]
    if (own.files !== true) return []
    const counts = rule === true || isPreferred(file, files) || (!ruled && own.include_non_preferred === true)
    return counts ? [{ file, versions: usual(body, file) }] : []
  })
}

/** In a list without a preferred file, the first one is preferred. */
function isPreferred(file: Wire, files: readonly Wire[]): boolean {
  return files.some(({ preferred }) => preferred === true) ? file.preferred === true : file === files[0]
}

function usual({ classes = {} }: ExportBody, file: Wire): readonly ExportVersion[] {
  const name = `${file.class}`
  return (Object.hasOwn(classes, name) ? classes[name] : undefined) ?? original
}

/** Null: the rule does not apply to this file; a text: the reason why the version is missing. */
function versionFor(file: Wire, { type = 'original', version: name = '' }: ExportVersion): Wire | string | null {
  const versions = (file.versions ?? {}) as Readonly<Record<string, Wire>>
  if (type === 'custom' && file.class !== 'image') return null
  const [first, second] = name.split('.')
  if (type === 'version' && second !== undefined && first !== file.class) return null
  const asked = type === 'version' ? (second ?? first ?? '') : 'original'
  const found = Object.hasOwn(versions, asked) ? versions[asked] : undefined
  if (!found) return `there is no version ${asked} that may be exported`
  return typeof found.hash === 'string' ? found : `the version ${asked} is ${found.status ?? 'not ready'}`
}

/** The parameters of a picture that is made for a download, in the form of the file service. */
export function pictureOf({ wanted }: PlannedAsset) {
  if (wanted.type !== 'custom') return {}
  if (wanted.custom_version_preset !== undefined) return { preset: wanted.custom_version_preset }
  return wanted.custom ? { custom: readCustomVersion(wanted.custom, 'custom') } : {}
}
