/**
 * Sets: object types, pools, types in pools, collections, and sets by tags of the base configuration. Sets of pools and
 * collections are below those of their ancestors, as far as their paths go. Harvesters see the sets that the user may
 * see.
 */
import { hash } from 'node:crypto'
import type { BaseConfig } from '../config/service.ts'
import type { Model } from '../datamodel/model.ts'
import type { Actor } from '../platform/actor.ts'
import type { Db, Queryable } from '../platform/postgres/db.ts'
import type { PoolSnapshot } from '../pools/service.ts'
import type { CallerRights } from '../rights/service.ts'
import { matchesTagFilter } from '../tags/service.ts'
import { collectionsNamed, type Looked, livingSpecs } from './store.ts'

export interface SetDeps {
  readonly db: Db
  readonly datamodel: { current(): Model }
  readonly pools: { snapshot(): PoolSnapshot }
  readonly rights: { forActor(actor: Actor): Promise<CallerRights> }
  readonly settings: () => Pick<BaseConfig, 'oai_pmh'>
  /** The collections that the actor may see; null: all. */
  readonly collectionsSeen: (q: Queryable, actor: Actor) => Promise<readonly number[] | null>
  /** Database languages, first one first. */
  readonly languages: () => readonly string[]
}

export interface NamedSet {
  readonly spec: string
  readonly name: string
}

/** The sets as read at one time. */
export interface Sets {
  /** Changes when objects may be in other sets. */
  readonly basis: string
  /** Specs of all sets that an object is in, including the sets above them. */
  of(object: Pick<Looked, 'objecttype' | 'pool' | 'tags' | 'collections'>): readonly string[]
  /** Whether its tags mark it as deleted for harvesters. */
  isDeleted(tags: readonly number[]): boolean
}

export function createSets(deps: SetDeps) {
  const { db, datamodel, pools, settings } = deps

  async function seenPools(actor: Actor): Promise<ReadonlyMap<number, readonly number[]>> {
    const { mayPool } = await deps.rights.forActor(actor)
    const seen = [...pools.snapshot().values()].filter(({ id }) => mayPool('bag_read', id))
    return new Map(seen.map(({ id, path }) => [id, path]))
  }

  const nameIn = (texts: Readonly<Record<string, string>>, other: string): string => {
    const language = deps.languages().find((one) => texts[one])
    return (language === undefined ? Object.values(texts).find((text) => text !== '') : texts[language]) ?? other
  }

  return {
    async current(actor: Actor): Promise<Sets> {
      const { tablesById } = datamodel.current()
      const { tagfilter_sets: tagSets, tagfilter_deleted: deleted } = settings().oai_pmh
      const paths = await seenPools(actor)
      const seen = await deps.collectionsSeen(db, actor)
      const lists = new Map((await collectionsNamed(db, seen)).map(({ id, path }) => [id, path]))
      const names = [...tablesById.values()].filter(({ kind }) => kind === 'object').map(({ id, name }) => [id, name])
      const basis = JSON.stringify([names, [...paths], [...lists], tagSets, deleted])
      return {
        basis: hash('sha256', basis, 'base64url'),
        of({ objecttype, pool, tags, collections }) {
          const type = tablesById.get(objecttype)?.name
          const path = pool === null ? undefined : paths.get(pool)
          return [
            ...(type === undefined ? [] : [`objecttype:${type}`]),
            ...(path ? withAbove('pool', path) : []),
            ...(path && type !== undefined ? withAbove(`objecttype_pool:${type}:pool`, path) : []),
            ...new Set(collections.flatMap((id) => withAbove('collection', lists.get(id) ?? []))),
            ...tagSets.filter(({ tagfilter }) => fits(tagfilter, tags)).map(({ set_name }) => `tagfilter:${set_name}`),
          ]
        },
        isDeleted: (tags) => !isEmpty(deleted) && fits(deleted, tags),
      }
    },

    /** All sets with their names, by their specs. Object types, and types in pools, are listed where they have records. */
    async list(actor: Actor): Promise<readonly NamedSet[]> {
      const model = datamodel.current()
      const snapshot = pools.snapshot()
      const poolName = (id: number): string => nameIn(snapshot.get(id)?.name ?? {}, `${id}`)
      const typeName = (name: string): string => nameIn(model.objecttypes.get(name)?.nameLocalized ?? {}, name)
      const ofTypes = await livingSpecs(db, 'objecttype:')
      const ofBoth = await livingSpecs(db, 'objecttype_pool:')
      const paths = await seenPools(actor)
      const lists = await collectionsNamed(db, await deps.collectionsSeen(db, actor))
      const sets = [
        ...ofTypes.map((spec) => ({ spec, name: typeName(spec.split(':')[1] ?? '') })),
        ...ofBoth.flatMap((spec) => {
          const [, type = '', , ...path] = spec.split(':')
          const pool = Number(path.at(-1))
          return paths.has(pool) ? [{ spec, name: `${typeName(type)}, ${poolName(pool)}` }] : []
        }),
        ...[...paths].map(([id, path]) => ({ spec: ['pool', ...path].join(':'), name: poolName(id) })),
        ...lists.map(({ id, path, name }) => ({
          spec: ['collection', ...path].join(':'),
          name: nameIn(name, `${id}`),
        })),
        ...settings().oai_pmh.tagfilter_sets.map(({ set_name: name }) => ({ spec: `tagfilter:${name}`, name })),
      ]
      return sets.toSorted((a, b) => (a.spec < b.spec ? -1 : 1))
    },
  }
}

export type SetService = ReturnType<typeof createSets>

type Filter = BaseConfig['oai_pmh']['tagfilter_deleted']

const fits = (filter: Filter, tags: readonly number[]): boolean =>
  matchesTagFilter({ ...filter, changed: [] }, { before: null, after: tags })

const isEmpty = ({ all, any, not }: Filter): boolean => all.length + any.length + not.length === 0

/** `pool:1:2` with `pool:1`. */
const withAbove = (kind: string, path: readonly number[]): string[] =>
  path.map((_, index) => [kind, ...path.slice(0, index + 1)].join(':'))

/** A spec from a client in its normal form; null: it cannot be a spec. */
export function readSpec(given: string): string | null {
  if (!/^[\w\-.!~*'()]+(?::[\w\-.!~*'()]+)*$/.test(given) || given.length > 1000) return null
  const spec = given.replace(/^tagset:/, 'tagfilter:')
  return /^objecttype:[^:]+:pool:/.test(spec) ? spec.replace('objecttype:', 'objecttype_pool:') : spec
}
