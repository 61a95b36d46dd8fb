import type { Column } from '../../datamodel/model.ts'
import { showingMasks } from '../masks/access.ts'
import { mayUseMask } from '../masks/preference.ts'
import type { Reader, Wire } from '../masks/reader.ts'
import { loadAncestors, loadLatest } from '../stored/load.ts'
import type { Head, Loaded } from '../stored/rows.ts'
import type { Run } from './run.ts'
import { isHierarchical } from './system-fields.ts'

/** Loads all ancestors of the given objects with their contents: two statements, or none when all are already loaded. */
export async function loadInheritance(run: Run, objects: readonly Head[]): Promise<void> {
  const start = new Set<number>()
  for (const object of objects) {
    if (!isHierarchical(object)) continue
    for (const id of object.parents) if (!run.loaded.has(id)) start.add(id)
  }
  if (start.size === 0) return
  const ancestors = await loadAncestors(run.q, run.model, [...start])
  const missing = ancestors.map((head) => head.systemObjectId).filter((id) => !run.loaded.has(id))
  for (const object of await loadLatest(run.q, run.model, missing)) run.loaded.set(object.systemObjectId, object)
}

/**
 * The content of an object with the values that it inherits: an inheriting field without a value takes that of the nearest
 * ancestor; with several parents, the value that the first one has or inherits comes before the second one's. `_inherited` in the
 * block names the source of each inherited field. No value is inherited from objects in the trash, from objects that the caller may
 * not read, or from objects that it may read only with masks that do not show the field.
 */
export function inheritInto(run: Run, object: Loaded, reader: Reader, block: Wire): Loaded['content'] {
  if (reader.inherited.length === 0 || object.parents.length === 0) return object.content
  const content = { ...object.content }
  const sources: Wire = {}
  for (const { key, wireKey, columns } of reader.inherited) {
    if (content[key] !== undefined) continue
    const source = findSource(run, object, key, columns, new Set())
    if (!source) continue
    content[key] = source.content[key]
    sources[wireKey] = source.systemObjectId
  }
  if (Object.keys(sources).length > 0) block._inherited = sources
  return content
}

function findSource(run: Run, object: Head, key: string, columns: readonly Column[], seen: Set<number>): Loaded | null {
  for (const id of object.parents) {
    if (seen.has(id)) continue
    seen.add(id)
    const parent = run.loaded.get(id)
    if (!parent) continue
    if (parent.content[key] !== undefined && gives(run, parent, columns)) return parent
    const source = findSource(run, parent, key, columns, seen)
    if (source) return source
  }
  return null
}

function gives(run: Run, object: Loaded, columns: readonly Column[]): boolean {
  if (object.deletedAt !== null) return false
  if (run.caller.root) return true
  if (!run.caller.may('read', object.guard)) return false
  const masks = showingMasks(object.table)
  return columns.every((column) =>
    masks
      .column(column)
      .values()
      .some((mask) => mayUseMask(run, mask, object)),
  )
}
