/** System fields of an object as cells. */

import { type ObjectTree, records, type Wire } from '../../objects/service.ts'
import { textIn } from '../../platform/values/localized.ts'
import { isRecord } from '../../platform/values/records.ts'
import { type AddCell, addTexts, type CellOptions, type CellValue, standardTexts } from './cell.ts'

/** Columns of system fields, in this order; `_standard` and `_path` continue with languages and levels. */
export const systemColumns = [
  '_objecttype',
  '_mask',
  '_system_object_id',
  '_global_object_id',
  '_uuid',
  '_id',
  '_version',
  '_created',
  '_last_modified',
  '_latest_version_deleted_at',
  '_owner',
  '_create_user',
  '_pool',
  '_tags',
  '_comment',
  '_id_parent',
  '_standard',
  '_standard-2',
  '_standard-3',
  '_path',
  '_paths',
  '_changelog',
] as const

export function systemCells(tree: ObjectTree, context: CellOptions, add: AddCell): void {
  const { wire, table } = tree
  const block = isRecord(wire[table.name]) ? (wire[table.name] as Wire) : {}
  const plain = (name: string, value: unknown): void => {
    if (isPlain(value)) add(name, value)
  }
  for (const name of ['_objecttype', '_mask', '_system_object_id', '_global_object_id', '_uuid']) {
    plain(name, wire[name])
  }
  for (const name of ['_id', '_version']) plain(name, block[name])
  for (const name of ['_created', '_last_modified', '_latest_version_deleted_at']) plain(name, wire[name])
  plain('_owner', nameOf(wire._owner))
  plain('_create_user', nameOf(wire._create_user))
  plain('_pool', isRecord(wire._pool) ? referenceOf(wire._pool.pool) : undefined)
  plain('_tags', records(wire._tags).map(referenceOf).join(','))
  plain('_comment', wire._comment)
  plain('_id_parent', block._id_parent)
  for (const slot of ['1', '2', '3']) {
    addTexts(standardTexts(wire, slot), slot === '1' ? '_standard' : `_standard-${slot}`, add)
  }
  for (const [index, path] of tree.paths.entries()) {
    addPath(path, index === 0 ? '_path' : `_paths[${index}]`, context, add)
  }
  plain('_changelog', changelog(wire._changelog, context))
}

const isPlain = (value: unknown): value is CellValue =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

function nameOf(who: unknown): unknown {
  const person = isRecord(who) ? who[String(who._basetype)] : null
  return isRecord(person) ? person._generated_displayname : undefined
}

function referenceOf(named: unknown): unknown {
  return isRecord(named) ? (named.reference ?? named._id) : undefined
}

/** The names from the root to the object itself. */
function addPath(path: readonly ObjectTree[], name: string, { options, languages }: CellOptions, add: AddCell): void {
  const hierarchy = options.table?.hierarchy
  if (hierarchy === undefined) return
  const names = path.map(({ wire }) => standardTexts(wire) as Readonly<Record<string, string>>)
  if (hierarchy === 'column') {
    for (const [level, texts] of names.entries()) addTexts(texts, `${name}[${level}]`, add)
    return
  }
  for (const language of new Set(names.flatMap((texts) => Object.keys(texts)))) {
    const joined = names.map((texts) => textIn(texts, [language, ...languages])).join(` ${hierarchy} `)
    add(`${name}.${language}`, joined)
  }
}

/** A line for each version, the newest first. */
function changelog(entries: unknown, { options }: CellOptions): string {
  const asked = options.table?.includeChangelog
  if (!asked) return ''
  const withUser = typeof asked === 'object' && asked.withUser === true
  return records(entries)
    .map((entry) => {
      const parts = [entry.version, entry.operation, entry.time, withUser ? nameOf(entry.user) : null, entry.comment]
      return parts.filter((part) => isPlain(part) && part !== '').join(' ')
    })
    .join('\n')
}
