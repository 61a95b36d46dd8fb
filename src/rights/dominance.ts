/**
 * Whether an editor has all that grants on containers give to others. A user who edits users and groups must not gain rights by it.
 */
import { isDeepStrictEqual } from 'node:util'
import { type Caller, isCaller, type Prepared } from './compile.ts'
import type { CallerRights, Person, PoolGrants, RightItem, StoredGrant } from './model.ts'

/** The editor, and the lists of grants that it may edit, by which it could give itself rights. */
export interface Editor {
  readonly caller: Caller
  readonly rights: CallerRights
  readonly managesPools: boolean
  readonly managesObjecttypes: boolean
}

/**
 * Whether the editor has everything that grants on pools and object types give to the given users and groups, now or later, or
 * could give it to itself. When in doubt the answer is no: for example, two grants that only together cover one right with a tag
 * filter are not combined.
 */
export function coversGrants(prepared: Prepared, editor: Editor, at: number, people: ReadonlySet<string>): boolean {
  if (editor.caller.root) return true
  const effective = new Map<number, readonly StoredGrant[]>()
  for (const pool of prepared.pools) {
    const above = (pool.parentId === null ? undefined : effective.get(pool.parentId)) ?? []
    const grants = handedDown(pool, above)
    effective.set(pool.id, grants)
    const couldGrant = editor.managesPools && editor.rights.mayPool('bag_acl', pool.id)
    if (!couldGrant && !coversPool(pool, grants, editor.caller, at, people)) return false
  }
  if (editor.managesObjecttypes) return true
  const owns = (who: StoredGrant['who']) => isCaller(editor.caller, who as Person)
  return [...prepared.objecttypes.values()].every((grants) =>
    coversList(grants, at, (who) => people.has(who as Person), owns),
  )
}

function handedDown(pool: PoolGrants, above: readonly StoredGrant[]): readonly StoredGrant[] {
  const inherited = pool.privateAcl ? above.filter((grant) => grant.sticky) : above
  return pool.acl.length === 0 ? inherited : [...inherited, ...pool.acl]
}

function coversPool(
  pool: PoolGrants,
  grants: readonly StoredGrant[],
  caller: Caller,
  at: number,
  people: ReadonlySet<string>,
): boolean {
  if (pool.owner !== null && people.has(pool.owner) && !isCaller(caller, pool.owner)) return false
  const somebody = (who: StoredGrant['who'], is: (person: Person | null) => boolean) =>
    who !== 'owner' && is(who === 'contact' ? pool.contact : who)
  return coversList(
    grants,
    at,
    (who) => somebody(who, (person) => person !== null && people.has(person)),
    (who) => somebody(who, (person) => isCaller(caller, person)),
  )
}

type Addressed = (who: StoredGrant['who']) => boolean

function coversList(grants: readonly StoredGrant[], at: number, theirs: Addressed, own: Addressed): boolean {
  const held = grants.filter((grant) => own(grant.who) && grant.active !== false)
  return grants
    .filter((grant) => theirs(grant.who) && grant.active !== false)
    .filter((grant) => grant.to === undefined || Date.parse(grant.to) > at)
    .every((grant) => Object.keys(grant.rights).every((name) => held.some((mine) => gives(mine, grant, name))))
}

/** Whether `mine` gives the right at least as far as `grant` does. */
function gives(mine: StoredGrant, grant: StoredGrant, name: string): boolean {
  if (mine === grant) return true
  const [item, wanted] = [mine.rights[name], grant.rights[name]]
  if (!item || !wanted || !coversItem(item, wanted)) return false
  const window = (one: StoredGrant) => [one.from, one.to]
  const always = mine.from === undefined && mine.to === undefined
  return (
    (mine.tagfilter === undefined || isDeepStrictEqual(mine.tagfilter, grant.tagfilter)) &&
    (always || isDeepStrictEqual(window(mine), window(grant))) &&
    (mine.sticky === true || grant.sticky !== true) &&
    // The masks of `mask` limit every other right of the same grant.
    coversMasks(mine.rights.mask?.mask_ids, grant.rights.mask?.mask_ids)
  )
}

function coversItem(item: RightItem, wanted: RightItem): boolean {
  return (
    coversFiles(item, wanted) &&
    (['objecttype_ids', 'pool_ids'] as const).every((name) => within(item[name], wanted[name])) &&
    coversMasks(item.mask_ids, wanted.mask_ids) &&
    (item._grantable === true || wanted._grantable !== true)
  )
}

/** Whether one right allows everything with files that another right allows. */
export function coversFiles(item: RightItem, wanted: RightItem): boolean {
  const limit = item.limit ?? 0
  return (
    (['classes', 'extensions', 'versions', 'column_ids'] as const).every((name) => within(item[name], wanted[name])) &&
    (limit === 0 || ((wanted.limit ?? 0) > 0 && (wanted.limit ?? 0) <= limit)) &&
    (item.allow_update_and_remove === true || wanted.allow_update_and_remove !== true)
  )
}

function within(limit: readonly unknown[] | undefined, wanted: readonly unknown[] | undefined): boolean {
  return limit === undefined || (wanted?.every((member) => limit.includes(member)) ?? false)
}

function coversMasks(limit: RightItem['mask_ids'], wanted: RightItem['mask_ids']): boolean {
  return Object.entries(limit ?? {}).every(([type, masks]) => within(masks, wanted?.[type]))
}
