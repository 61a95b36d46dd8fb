import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../../platform/actor.ts'
import { assertVersion } from '../../platform/config/versions.ts'
import { AppError, missingSystemRight } from '../../platform/errors.ts'
import { systemRight } from '../../platform/http/system-right.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { assertStorable } from '../../platform/values/text.ts'
import { type Reaches, reachOf } from '../escalation.ts'
import type { StoredGroup, SystemRights } from '../model.ts'
import { noRights, type PersonRight, rightsById } from '../person-rights.ts'
import { notFound, type Reference, resolveReferences } from '../principals.ts'
import { readsAllGroups } from '../readable.ts'
import { aclsOf, assertDistinct, duplicateValue, identityOf, namedBy, ownerOf, ownersOf } from '../record-input.ts'
import type { GroupInput } from '../schema.ts'
import { covers } from '../system-rights.ts'
import type { GroupDependencies } from './deps.ts'
import { draftGroup, type GroupDraft } from './draft.ts'
import * as store from './store.ts'

interface Item {
  readonly input: GroupInput
  readonly path: string
  readonly reference: Reference | null
  stored: StoredGroup | null
  /** The rights of the actor on the stored group. */
  rights: ReadonlySet<PersonRight>
}

/**
 * Creates and updates groups, all or none: stored groups → drafts → look-ups → rights → write → events. Statements do
 * not grow with the number of groups. Returns the ids in the order of the request.
 */
export async function saveGroups(
  deps: GroupDependencies,
  actor: Actor,
  inputs: readonly GroupInput[],
): Promise<number[]> {
  const manager = systemRight(actor, 'system.group')
  if (!manager) throw missingSystemRight('system.group')
  assertStorable(inputs, 'body')
  const items = inputs.map((input, index): Item => {
    const path = `[${index}]`
    return { input, path, stored: null, rights: noRights, reference: identityOf('group', input.group, `${path}.group`) }
  })
  try {
    return await deps.db.transaction((tx) => write(deps, actor, items, tx))
  } catch (error) {
    throw translateDuplicate(error)
  }
}

async function write(deps: GroupDependencies, actor: Actor, items: readonly Item[], tx: Tx): Promise<number[]> {
  await loadStored(deps, actor, items, tx)
  const drafts = items.map((item) => draftGroup(item.input, item.stored, item.path))
  const rights = items.map((item) => systemRightsOf(deps, item))
  for (const [index, item] of items.entries())
    assertMayChange(actor, item, rights[index] ?? {}, drafts[index] as GroupDraft)
  const owners = ownersOf(items)
  const found = await resolveReferences(tx, [...owners.values()], namedBy(actor, items))
  const acls = await aclsOf(deps.rights, tx, actor, 'group', items)
  const wanted = drafts.map((draft, index): Omit<store.GroupRow, 'id'> => {
    const item = items[index] as Item
    const owner = ownerOf(item, owners.get(item), found, actor)
    return {
      ...draft,
      version: (item.stored?.version ?? 0) + 1,
      system_rights: rights[index] ?? {},
      acl: acls[index] ?? [],
      owner_user: owner.userId,
      owner_group: owner.groupId,
    }
  })
  await assertReach(reachOf(actor, deps.rights, tx), items, wanted)
  // Ids are never reused, so they are drawn only for groups that are accepted.
  const fresh = (await store.newGroupIds(tx, items.filter((item) => !item.stored).length)).values()
  const rows = wanted.map((row, index) => ({ ...row, id: items[index]?.stored?.id ?? (fresh.next().value as number) }))
  await store.insertGroups(
    tx,
    rows.filter((_, index) => !items[index]?.stored),
  )
  await store.updateGroups(
    tx,
    rows.filter((_, index) => items[index]?.stored),
  )
  await tell(deps, actor, items, rows, tx)
  return rows.map((row) => row.id)
}

async function loadStored(deps: GroupDependencies, actor: Actor, items: readonly Item[], tx: Tx): Promise<void> {
  const named = items.map((item) => item.reference).filter((reference) => reference !== null)
  const groups = await store.lockGroups(
    tx,
    named.map((reference) => reference.by).filter((by) => typeof by === 'number'),
    named.map((reference) => reference.by).filter((by) => typeof by === 'string'),
  )
  const held = await rightsById(tx, 'group', actor.isRoot ? [] : groups.map(({ id }) => id), actor)
  const known = (id: number): boolean =>
    readsAllGroups(actor) || actor.groupIds.includes(id) || (held.get(id)?.size ?? 0) > 0
  for (const item of items) {
    const { reference } = item
    if (reference === null) continue
    const found = groups.find((group) => group.id === reference.by || group.reference === reference.by)
    item.stored = found && known(found.id) ? found : null
    item.rights = held.get(item.stored?.id ?? 0) ?? noRights
    if (!item.stored) throw notFound(reference)
    assertVersion(item.input.group._version, item.stored.version, deps.conventionOf(actor), {
      path: `${item.path}.group._version`,
    })
  }
  assertDistinct(
    items.map((item) => item.stored?.id ?? null),
    'group',
  )
}

function systemRightsOf({ rights }: Pick<GroupDependencies, 'rights'>, { input, stored, path }: Item): SystemRights {
  if (input._system_rights === undefined) return stored?.systemRights ?? {}
  return rights.parseSystemRights(input._system_rights ?? {}, `${path}._system_rights`)
}

/**
 * Holders of `system.group` change groups, but never beyond their own rights. They cannot give rights that they do not have. They
 * cannot change groups with such rights, unless they hold a right on the group itself that allows the change.
 */
function assertMayChange(
  actor: Actor,
  { input, stored, rights: held }: Item,
  rights: SystemRights,
  draft: GroupDraft,
): void {
  const manager = systemRight(actor, 'system.group')
  if (actor.isRoot || !manager) return
  const missing = (parameter: string, column?: string) =>
    missingSystemRight(`system.group[${parameter}]`, column ? { column } : {})
  if (!stored && manager.create === false) throw missing('create')
  const acl = stored ? 'edit_acl' : 'create_acl'
  if (input._acl !== undefined && manager[acl] === false && !held.has('acl')) throw missing(acl, '_acl')
  const systemRights = stored ? 'edit_system_rights' : 'create_system_rights'
  if (input._system_rights !== undefined && manager[systemRights] === false)
    throw missing(systemRights, '_system_rights')
  if (stored && input._owner) throw new AppError('ColumnNeedsSystemRoot', { column: '_owner' })
  const names = stored !== null && onlyNames(stored, draft, rights)
  if (names && (held.has('bag_write') || (held.has('acl') && input._acl !== undefined))) return
  for (const given of [rights, stored?.systemRights ?? {}]) {
    if (!covers(actor.systemRights, given)) throw new AppError('ColumnNeedsSystemRoot', { column: '_system_rights' })
  }
}

/** Whether the save changes nobody's rights: only names, notes, and grants, which require a right of their own. */
function onlyNames(stored: StoredGroup, draft: GroupDraft, rights: SystemRights): boolean {
  const { reference, pseudonymization, auth_method_group_maps: maps } = draft
  return isDeepStrictEqual(
    [
      rights,
      reference,
      pseudonymization,
      maps,
      draft.ip_subnet_filter,
      draft.ip_subnet_filter_exclude,
      draft.two_fa_required,
    ],
    [
      stored.systemRights,
      stored.reference,
      stored.pseudonymization,
      stored.authMethodGroupMaps,
      stored.ipSubnetFilter,
      stored.ipSubnetFilterExclude,
      stored.twoFactorRequired,
    ],
  )
}

/**
 * The type, the networks and the grants of `link` of a group decide who gets its rights. So an editor who changes them must have
 * these rights; otherwise it could open the group for itself.
 */
async function assertReach(
  reaches: Reaches,
  items: readonly Item[],
  rows: readonly Omit<store.GroupRow, 'id'>[],
): Promise<void> {
  const opened = items.flatMap(({ stored, rights }, index) => {
    const row = rows[index]
    if (!stored || !row) return []
    const pairs: [column: string, before: unknown, after: unknown][] = [
      ['_acl', stored.acl, rights.has('acl') ? stored.acl : row.acl],
      ['_ip_subnet_filter', stored.ipSubnetFilter, row.ip_subnet_filter],
      ['_ip_subnet_filter_exclude', stored.ipSubnetFilterExclude, row.ip_subnet_filter_exclude],
      ['_two_fa_required', stored.twoFactorRequired, row.two_fa_required],
      ['_auth_method_group_maps', stored.authMethodGroupMaps, row.auth_method_group_maps],
    ]
    const changed = pairs.find(([, before, after]) => !isDeepStrictEqual(before, after))
    return changed ? [{ column: changed[0], group: stored.id }] : []
  })
  if (await reaches(opened.map(({ group }) => `g${group}`))) return
  for (const where of opened) {
    if (!(await reaches([`g${where.group}`]))) throw new AppError('ColumnNeedsSystemRoot', where)
  }
}

/** Writes events, and clears the caches of all processes: finding out whose rights changed would cost more. */
async function tell(
  deps: GroupDependencies,
  actor: Actor,
  items: readonly Item[],
  rows: readonly store.GroupRow[],
  tx: Tx,
) {
  await deps.events.append(
    tx,
    rows.map((row, index) => ({
      type: items[index]?.stored ? ('GROUP_UPDATE' as const) : ('GROUP_INSERT' as const),
      actor,
      basetype: 'group',
      objectId: row.id,
      objectVersion: row.version,
      info: { name: row.name, displayname: row.displayname, reference: row.reference },
    })),
  )
  if (items.some((item) => item.stored)) await deps.sessions.allChanged(tx)
  await deps.principals.changed(tx)
}

function translateDuplicate(error: unknown): unknown {
  const duplicate = duplicateValue(error)
  if (!duplicate) return error
  const column = duplicate.constraint === 'group_name_key' ? 'group.name' : 'group.reference'
  return new AppError('DatabaseUniqueKeyViolation', { column, value: duplicate.value }, { cause: error })
}
