import type { Mask, Model, Table } from '../../datamodel/model.ts'
import type { Queryable } from '../../platform/postgres/db.ts'
import { type MaskDeps, standardMask } from '../masks/preference.ts'
import { contentBytes, frameBytes } from '../render/parts.ts'
import type { RenderItem } from '../render/render.ts'
import { type Address, loadHeads, loadLatest, loadNumbered, loadVersions } from '../stored/load.ts'
import type { Head, Loaded } from '../stored/rows.ts'

/** Objects of an answer as they are loaded, some at a time. */
export type Pages = AsyncIterable<readonly RenderItem[]> | Iterable<readonly RenderItem[]>

/** The database to read from, and the datamodel by which contents are read. */
interface Source {
  readonly q: Queryable
  readonly model: Model
}

/** Versions of objects in the order of their ids, newest first, page by page; only those that `allowed` accepts. */
export async function* versionsOf(
  { q, model }: Source,
  table: Table,
  mask: Mask,
  address: Address,
  version: number | null,
  allowed: (object: Loaded) => boolean,
): Pages {
  const size = pageSizes()
  let last: Loaded | null = null
  for (;;) {
    const limit = size.next()
    const versions: Loaded[] = await loadVersions(q, model, table, address, version, last, limit)
    size.seen(versions)
    yield versions.filter(allowed).map((object) => ({ object, mask }))
    last = versions.at(-1) ?? null
    if (versions.length < limit) return
  }
}

/**
 * Objects by their ids in this order, page by page, with the mask that each is shown with; null: the object is not shown, `short`:
 * in its short form, which needs no mask. `seen` is called for each object in whole form, with its row version.
 */
export async function* latestOf(
  {
    q,
    model,
    deps,
    seen,
  }: Source & { readonly deps: MaskDeps; readonly seen?: (object: Loaded, rowVersion: string) => void },
  ids: readonly number[],
  whole: boolean,
  maskOf: (object: Head, index: number) => Mask | 'short' | null,
): Pages {
  const size = pageSizes()
  for (let start = 0, end = 0; start < ids.length; start = end) {
    end = start + (whole ? size.next() : mostHeads)
    const page = ids.slice(start, end)
    const objects = await (whole ? loadLatest(q, model, page, seen) : loadHeads(q, model, page))
    size.seen(objects)
    const byId = new Map(objects.map((object) => [object.systemObjectId, object]))
    yield page.flatMap((id, index) => {
      const object = byId.get(id)
      const mask = object && maskOf(object, start + index)
      if (object && mask === 'short') return [{ object: headOf(object), mask: standardMask({ deps }, object) }]
      return mask && mask !== 'short' ? [{ object, mask }] : []
    })
  }
}

/** An object in its latest version, or in the one of this number. */
export interface ObjectVersion {
  readonly systemObjectId: number
  readonly version?: number | undefined
}

/** Objects in these versions, in this order and as often as they are listed, page by page. */
export async function* numberedOf(
  { q, model, deps }: Source & { readonly deps: MaskDeps },
  wanted: readonly ObjectVersion[],
  maskOf: (object: Head) => Mask | 'short' | null,
): Pages {
  const size = pageSizes()
  for (let start = 0, end = 0; start < wanted.length; start = end) {
    end = start + size.next()
    const page = wanted.slice(start, end)
    const old = page.filter((one) => one.version !== undefined)
    const [latest, numbered] = await Promise.all([
      loadLatest(q, model, [
        ...new Set(page.filter((one) => one.version === undefined).map((one) => one.systemObjectId)),
      ]),
      loadNumbered(
        q,
        model,
        old.map((one) => one.systemObjectId),
        old.map((one) => one.version as number),
      ),
    ])
    size.seen([...latest, ...numbered])
    const byId = new Map(latest.map((object) => [object.systemObjectId, object]))
    const byVersion = new Map(numbered.map((object) => [`${object.systemObjectId} ${object.version}`, object]))
    yield page.flatMap(({ systemObjectId, version }) => {
      const object = version === undefined ? byId.get(systemObjectId) : byVersion.get(`${systemObjectId} ${version}`)
      const mask = object && maskOf(object)
      if (!object || !mask) return []
      return mask === 'short' ? [{ object: headOf(object), mask: standardMask({ deps }, object) }] : [{ object, mask }]
    })
  }
}

/** Splits a list that is already in memory into pages, since answers are written page by page. */
export function* inPages<T>(list: readonly T[], toItem: (member: T) => RenderItem): Iterable<readonly RenderItem[]> {
  for (let start = 0; start < list.length; start += 100) yield list.slice(start, start + 100).map(toItem)
}

/** An object without its content. */
export function headOf(object: Head | Loaded): Head {
  const { systemObjectId, table, id, version, uuid, poolId, ownerUser, ownerGroup } = object
  const { tags, acl, privateAcl, parents, standard, deletedAt, guard } = object
  const whose = { poolId, ownerUser, ownerGroup, tags, acl, privateAcl }
  return { systemObjectId, table, id, version, uuid, ...whose, parents, standard, deletedAt, guard }
}

/** Number of objects without contents that are loaded at a time. */
export const mostHeads = 1000

/** The number of objects to load at a time: a hundred at first, then by the size of those already loaded. */
function pageSizes() {
  const [smallest, largest, bytes] = [10, 500, 2_000_000]
  let size = 100
  return {
    next: () => size,
    seen(objects: readonly (Head | Loaded)[]): void {
      let sum = 1
      for (const object of objects) if ('content' in object) sum += contentBytes(object.content) + frameBytes
      size = Math.round(Math.min(largest, Math.max(smallest, (bytes * objects.length) / sum)))
    },
  }
}
