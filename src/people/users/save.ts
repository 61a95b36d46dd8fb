import type { Actor } from '../../platform/actor.ts'
import { assertVersion } from '../../platform/config/versions.ts'
import { AppError, missingSystemRight } from '../../platform/errors.ts'
import { hasSystemRight } from '../../platform/http/system-right.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { canonicalJson } from '../../platform/values/canonical-json.ts'
import { confirmTask, type Task } from '../../platform/values/tasks.ts'
import { assertStorable } from '../../platform/values/text.ts'
import { principalsOfUser, type Reaches, reachOf } from '../escalation.ts'
import type { DueMail, EndedSessions } from '../hooks.ts'
import {
  identityKey,
  passwordUserTypes,
  rootUserId,
  type StoredUser,
  type SystemRights,
  type UserType,
} from '../model.ts'
import { nameTaken } from '../names.ts'
import { noRights, personRights } from '../person-rights.ts'
import { notFound, type Reference, resolveReferences } from '../principals.ts'
import { readsAllUsers } from '../readable.ts'
import { aclsOf, assertDistinct, duplicateValue, identityOf, namedBy, ownerOf, ownersOf } from '../record-input.ts'
import type { UserInput } from '../schema.ts'
import { type LockOut, signInObstacle } from '../sign-in-obstacle.ts'
import type { UserDependencies } from './deps.ts'
import { draftUser, type UserDraft } from './draft.ts'
import { type Assigned, assignedGroups, groupsNamed, type Item, withinLinks } from './lookups.ts'
import { meetsRules, ruleHint } from './password-rules.ts'
import { assertPictures, keepPictures } from './pictures.ts'
import { assertMayChange, notGranted } from './policy.ts'
import { groupsOf } from './render.ts'
import * as store from './store.ts'

export interface SaveOptions {
  /** Accept passwords that break the rules: the answer to the 202. */
  ignorePasswordRequirements: boolean
  /** Do not check the rules for passwords and the form of email addresses; for imports by root. */
  skipConstraints: boolean
}

/** A user that is to be written, before it has an id. */
type UnnumberedUser = Omit<store.UserRow, 'id'>

export type SaveResult = { kind: 'confirm'; tasks: Task[] } | { kind: 'done'; ids: number[] }

/**
 * Creates and updates users, all or none: passwords → stored users → drafts → look-ups → rights → write → sessions →
 * events. Statements do not grow with the number of users. `alongside` joins the transaction.
 */
export async function saveUsers(
  deps: UserDependencies,
  actor: Actor,
  inputs: readonly UserInput[],
  options: SaveOptions,
  alongside: (tx: Tx) => Promise<void> = async () => {},
): Promise<SaveResult> {
  assertStorable(inputs, 'body')
  if (options.skipConstraints && !actor.isRoot)
    throw new AppError('ColumnNeedsSystemRoot', { param: 'skip_constraints' })
  const tasks = checkPasswords(deps, actor, inputs, options)
  if (tasks.length > 0) return { kind: 'confirm', tasks }
  const items: Item[] = []
  for (const [index, input] of inputs.entries()) {
    const path = `[${index}]`
    const passwordHash = input._password ? await deps.hashPassword(input._password) : null
    const reference = identityOf('user', input.user, `${path}.user`)
    items.push({ input, path, passwordHash, stored: null, reference, rights: noRights })
  }
  if (!actor.isRoot) await findRights(deps.db, actor, items)
  try {
    return await deps.db.transaction(async (tx) => {
      const saved = await write(deps, actor, items, options, tx)
      await alongside(tx)
      return saved
    })
  } catch (error) {
    throw translateDuplicate(error, inputs)
  }
}

/** Runs before any hash is computed, to avoid useless work. */
function checkPasswords(
  { baseConfig }: UserDependencies,
  actor: Actor,
  inputs: readonly UserInput[],
  { ignorePasswordRequirements, skipConstraints }: SaveOptions,
): Task[] {
  const rules = baseConfig.get().password
  let broken = false
  inputs.forEach((input, index) => {
    if (input._password_hash !== undefined) throw new AppError('ColumnCanNotBeUpdated', { column: '_password_hash' })
    if (input._password === undefined || input._password === null) return
    if (!hasSystemRight(actor, 'system.user')) throw missingSystemRight('system.user', { column: '_password' })
    if (input._password === '') throw new AppError('NoPassword', { path: `[${index}]._password` })
    broken ||= !meetsRules(input._password, rules)
  })
  if (!broken || ignorePasswordRequirements || skipConstraints) return []
  const message = ruleHint(rules, actor.languages)
  return [confirmTask({ title: 'Password', message, name: 'confirm', value: 'ignore_password_requirements' })]
}

async function write(
  deps: UserDependencies,
  actor: Actor,
  items: readonly Item[],
  { skipConstraints: anyEmail }: SaveOptions,
  tx: Tx,
): Promise<SaveResult> {
  await loadStored(deps, actor, items, tx)
  const now = deps.clock()
  const drafts = items.map((item) => draftUser(item.input, item.stored, item.path, now, { anyEmail }))
  for (const [index, item] of items.entries()) assertPasswordFits(item, drafts[index]?.type)
  const owners = ownersOf(items)
  const groups = groupsNamed(items)
  const named = [...owners.values(), ...[...groups.values()].flat()]
  const found = await resolveReferences(tx, named, namedBy(actor, items))
  const assigned = await withinLinks(actor, items, await assignedGroups(items, drafts, groups, found, tx), tx)
  const acls = await aclsOf(deps.rights, tx, actor, 'user', items)
  const wanted = items.map((item, index): UnnumberedUser => {
    const draft = drafts[index] as UserDraft
    const owner = ownerOf(item, owners.get(item), found, actor)
    return {
      ...draft,
      version: (item.stored?.version ?? 0) + 1,
      password_hash: item.passwordHash,
      system_rights: systemRightsOf(deps, item),
      acl: acls[index] ?? [],
      owner_user: owner.userId,
      owner_group: owner.groupId,
    }
  })
  assertRights(actor, items, wanted, assigned)
  if (items.some((item, index) => changesOwnProof(actor, item, wanted[index] as UnnumberedUser))) {
    await deps.freshSignIn(tx, actor)
  }
  await assertReach(reachOf(actor, deps.rights, tx), actor, items, wanted, assigned)
  const pictures = items.map(({ path, stored }, index) => ({ path, stored, after: wanted[index]?.picture_id ?? null }))
  await assertPictures(tx, actor, deps.pictures, pictures)
  // Ids are never reused, so they are drawn only for users that are accepted.
  const fresh = (await store.newUserIds(tx, items.filter((item) => !item.stored).length)).values()
  const rows = wanted.map((row, index) => ({ ...row, id: items[index]?.stored?.id ?? (fresh.next().value as number) }))
  await writeRows(deps, items, rows, assigned, tx)
  await keepPictures(tx, deps.pictures, pictures)
  await deps.mails.send(tx, mailsDue(rows, now))
  await tell(deps, actor, items, rows, tx)
  return { kind: 'done', ids: rows.map((row) => row.id) }
}

/** The mails whose time the draft has set to the time of the save. */
function mailsDue(rows: readonly store.UserRow[], now: Date): DueMail[] {
  return rows.flatMap(({ id, confirm_email_sent_at: confirm, welcome_email_sent_at: welcome }) => [
    ...(confirm === now ? [{ userId: id, kind: 'confirm' as const }] : []),
    ...(welcome === now ? [{ userId: id, kind: 'welcome' as const }] : []),
  ])
}

/**
 * Callers who do not manage users may save their own record, and users that they have a right on. They are not told whether other
 * users exist.
 */
async function findRights(from: Queryable, actor: Actor, items: readonly Item[]): Promise<void> {
  const { ids, references } = namedUsers(items)
  const found = await personRights(from, 'user', { ids, references }, actor)
  const unknown = (item: Item): boolean => {
    const { reference } = item
    const held = found.find(
      ({ id, reference: name }) => id === reference?.by || (name !== null && name === reference?.by),
    )
    item.rights = new Set(held?.rights)
    return held?.id !== actor.userId && item.rights.size === 0
  }
  for (const item of items) {
    if (!unknown(item) || readsAllUsers(actor)) continue
    if (!hasSystemRight(actor, 'system.user')) throw missingSystemRight('system.user')
    if (item.reference !== null) throw unknownOf(item.reference)
  }
}

function namedUsers(items: readonly Item[]) {
  const named = items.flatMap(({ reference }) => reference?.by ?? [])
  return {
    ids: named.filter((by) => typeof by === 'number'),
    references: named.filter((by) => typeof by === 'string'),
  }
}

/** Finds and locks the users to be updated, and checks versions. */
async function loadStored(deps: UserDependencies, actor: Actor, items: readonly Item[], tx: Tx): Promise<void> {
  const { ids, references } = namedUsers(items)
  const users = await store.lockUsers(tx, ids, references)
  for (const item of items) {
    const { reference } = item
    if (reference === null) continue
    item.stored = users.find((user) => user.id === reference.by || user.reference === reference.by) ?? null
    if (!item.stored) throw unknownOf(reference)
    if (item.stored.archivedAt) throw new AppError('UserArchived', { path: item.path, _id: item.stored.id })
    assertVersion(item.input.user._version, item.stored.version, deps.conventionOf(actor), {
      path: `${item.path}.user._version`,
    })
  }
  assertDistinct(
    items.map((item) => item.stored?.id ?? null),
    'user',
  )
}

function unknownOf(reference: Reference): AppError {
  const { by, path } = reference
  return typeof by === 'number' ? new AppError('UserNotFound', { path, _id: by }) : notFound(reference)
}

function assertPasswordFits({ passwordHash, stored, path }: Item, type: UserType | undefined): void {
  if (passwordHash === null || type === undefined) return
  const fits = passwordUserTypes.includes(type) && (type !== 'system' || stored?.id === rootUserId)
  if (!fits) throw new AppError('UnableToSetPasswordForUserType', { path: `${path}._password`, type })
}

function systemRightsOf(deps: Pick<UserDependencies, 'rights'>, { input, stored, path }: Item): SystemRights {
  if (input._system_rights === undefined) return stored?.systemRights ?? {}
  const rights = deps.rights.parseSystemRights(input._system_rights ?? {}, `${path}._system_rights`)
  if (stored?.id === rootUserId && canonicalJson(rights) !== canonicalJson(stored.systemRights)) {
    throw new AppError('ColumnCanNotBeUpdated', { column: '_system_rights' })
  }
  return rights
}

function assertRights(actor: Actor, items: readonly Item[], rows: readonly UnnumberedUser[], assigned: Assigned): void {
  items.forEach((item, index) => {
    const row = rows[index] as UnnumberedUser
    const { stored } = item
    const groupIds = assigned.groupIds.get(item)
    const before = new Set(stored?.groupIds)
    const effective = stored ? groupsOf(stored, assigned.summaries).map((group) => group.systemRights) : []
    assertMayChange(actor, {
      stored,
      rights: item.rights,
      profile: stored !== null && profileChanges(stored, row),
      linked: assigned.linked.has(item),
      protectedChanges: protectedChanges(item, row, groupIds ?? null),
      systemRights: row.system_rights,
      addedGroups: assigned.summaries.filter((group) => groupIds?.includes(group.id) && !before.has(group.id)),
      effectiveRights: stored ? [stored.systemRights, ...effective] : [],
    })
  })
}

/**
 * No caller may gain rights by putting users (or itself) into groups, or by taking over an account: the editor must have what the
 * groups give and what the user has. Groups that a user gets by its type count like assigned ones.
 */
async function assertReach(
  reaches: Reaches,
  actor: Actor,
  items: readonly Item[],
  rows: readonly UnnumberedUser[],
  assigned: Assigned,
): Promise<void> {
  if (actor.isRoot) return
  const steps = items.flatMap((item, index): { column: string; group?: number; principals: string[] }[] => {
    const row = rows[index] as UnnumberedUser
    const groupIds = assigned.groupIds.get(item) ?? item.stored?.groupIds ?? []
    const before = item.stored ? groupsOf(item.stored, assigned.summaries).map(({ id }) => id) : []
    const joined = assigned.summaries
      .filter(({ id, memberTypes }) => groupIds.includes(id) || memberTypes.includes(row.type))
      .filter(({ id }) => !before.includes(id))
      .map(({ id }) => ({ column: '_groups', group: id, principals: [`g${id}`] }))
    const changed = protectedChanges(item, row, assigned.groupIds.get(item) ?? null)
    const [member] = notGranted({ rights: item.rights, linked: assigned.linked.has(item), protectedChanges: changed })
    if (!item.stored || item.stored.id === actor.userId || member === undefined) return joined
    return [{ column: member, principals: principalsOfUser(item.stored.id, before) }, ...joined]
  })
  if (await reaches([...new Set(steps.flatMap(({ principals }) => principals))])) return
  for (const { principals, ...where } of steps) {
    if (!(await reaches(principals))) throw new AppError('ColumnNeedsSystemRoot', where)
  }
}

/** Whether members change that holders of `bag_write` may change, like the user itself. */
function profileChanges(stored: StoredUser, row: UnnumberedUser): boolean {
  const of = (
    { remarks: _, ...profile }: Record<string, unknown>,
    languages: readonly string[],
    picture: number | null,
  ) => canonicalJson({ profile, languages, picture })
  const before = of(stored.profile, stored.databaseLanguages, stored.pictureId)
  return before !== of(row.profile, row.database_languages, row.picture_id)
}

/** Protected members that really change: clients send back what they have read. */
function protectedChanges(
  { input, stored, passwordHash }: Item,
  row: UnnumberedUser,
  groupIds: readonly number[] | null,
) {
  const pairs: [member: string, before: unknown, after: unknown][] = [
    ['user.login', stored?.login ?? null, row.login],
    ['user.email', stored?.email ?? null, row.email],
    ['user.type', stored?.type ?? 'native', row.type],
    ['user.reference', stored?.reference ?? null, row.reference],
    ['user.login_disabled', stored?.loginDisabled ?? false, row.login_disabled],
    ['user.login_valid_from', stored?.loginValidFrom ?? null, row.login_valid_from],
    ['user.login_valid_to', stored?.loginValidTo ?? null, row.login_valid_to],
    ['user.require_password_change', stored?.requirePasswordChange ?? false, row.require_password_change],
    ['user.confirm_email', stored?.confirmEmail ?? false, row.confirm_email],
    ['user.welcome_email', stored?.welcomeEmail ?? false, row.welcome_email],
    ['user.remarks', stored?.profile.remarks ?? null, row.profile.remarks ?? null],
    ['_system_rights', stored?.systemRights ?? {}, row.system_rights],
    ['_acl', stored?.acl ?? [], row.acl],
    [
      '_groups',
      [...(stored?.groupIds ?? [])].sort(),
      groupIds === null ? [...(stored?.groupIds ?? [])].sort() : [...groupIds].sort(),
    ],
  ]
  const owner = { userId: row.owner_user, groupId: row.owner_group }
  for (const reset of ['_two_factor_reset_totp', '_two_factor_reset_passkey'] as const) {
    if (stored && input[reset]) pairs.push([reset, false, true])
  }
  if (input._owner) pairs.push(['_owner', stored?.owner ?? null, owner])
  const changed = pairs
    .filter(([, before, after]) => canonicalJson(before) !== canonicalJson(after))
    .map(([member]) => member)
  return passwordHash === null ? changed : ['_password', ...changed]
}

/** Members that are credentials, or through which credentials can be changed. */
const proofMembers: readonly string[] = [
  '_password',
  '_two_factor_reset_totp',
  '_two_factor_reset_passkey',
  'user.login',
  'user.email',
  'user.type',
  'user.reference',
]

function changesOwnProof(actor: Actor, item: Item, row: UnnumberedUser): boolean {
  return (
    item.stored?.id === actor.userId &&
    protectedChanges(item, row, null).some((member) => proofMembers.includes(member))
  )
}

async function writeRows(
  deps: Pick<UserDependencies, 'accountUuids' | 'factors'>,
  items: readonly Item[],
  rows: readonly store.UserRow[],
  assigned: Assigned,
  tx: Tx,
): Promise<void> {
  await store.lockNames(tx, newNames(items, rows))
  await store.insertUsers(
    tx,
    rows.filter((_, index) => !items[index]?.stored),
  )
  await store.updateUsers(
    tx,
    rows.filter((_, index) => items[index]?.stored),
  )
  await deps.accountUuids.give(
    tx,
    rows.filter(({ type }) => type === 'email').map(({ id }) => id),
  )
  const whose = (reset: '_two_factor_reset_totp' | '_two_factor_reset_passkey'): number[] =>
    items.flatMap(({ stored, input }) => (stored && input[reset] ? [stored.id] : []))
  await deps.factors.reset(tx, {
    totp: whose('_two_factor_reset_totp'),
    passkeys: whose('_two_factor_reset_passkey'),
  })
  const memberships = items.flatMap((item, index) => {
    const groupIds = assigned.groupIds.get(item)
    return groupIds ? [{ id: rows[index]?.id as number, groupIds }] : []
  })
  await store.setGroups(tx, memberships)
}

/** The names that must be unique among users, as far as the save changes them. */
function newNames(items: readonly Item[], rows: readonly store.UserRow[]): string[] {
  return rows.flatMap(({ login, login_key, email, email_key, reference }, index) => {
    const stored = items[index]?.stored
    return [
      ...(login === stored?.login ? [] : [login_key]),
      ...(email === stored?.email ? [] : [email_key]),
      ...(reference === stored?.reference ? [] : [reference]),
    ].filter((name) => name !== null)
  })
}

/** Writes events, ends sessions, and clears the caches of all processes. */
async function tell(
  deps: UserDependencies,
  actor: Actor,
  items: readonly Item[],
  rows: readonly store.UserRow[],
  tx: Tx,
) {
  await deps.events.append(
    tx,
    rows.map((row, index) => ({
      type: items[index]?.stored ? ('USER_UPDATE' as const) : ('USER_INSERT' as const),
      actor,
      basetype: 'user',
      objectId: row.id,
      objectVersion: row.version,
      info: { login: row.login, displayname: row.generated_displayname, reference: row.reference },
    })),
  )
  const ended = rows.flatMap((row, index): EndedSessions[] => {
    const item = items[index]
    if (!item?.stored) return []
    const obstacle = lockOutOf(row, deps.clock())
    if (obstacle) return [{ userId: row.id, reason: obstacle }]
    return item.passwordHash === null ? [] : [{ userId: row.id }]
  })
  await deps.sessions.endOfUsers(tx, ended, actor.remoteAddr)
  const updated = rows.filter((_, index) => items[index]?.stored).map((row) => row.id)
  if (updated.length > 0) await deps.sessions.changed(tx, updated)
  await deps.principals.changed(tx)
}

function lockOutOf(row: store.UserRow, now: Date): LockOut | null {
  return signInObstacle(
    {
      archived: false,
      loginDisabled: row.login_disabled,
      loginValidFrom: row.login_valid_from,
      loginValidTo: row.login_valid_to,
      emailUnconfirmed: row.confirm_email && row.email_confirmed_at === null,
    },
    now,
  )
}

/** Translates unique key violations: the database decides which logins, addresses and references are taken. */
function translateDuplicate(error: unknown, inputs: readonly UserInput[]): unknown {
  const duplicate = duplicateValue(error)
  if (!duplicate) return error
  const { constraint, value } = duplicate
  const asEmail = inputs.some(({ user }) => user.email && identityKey(user.email) === value)
  if (constraint === nameTaken && asEmail) return new AppError('UserDuplicateEmail', { email: value }, { cause: error })
  if (constraint === 'user_login_key' || constraint === nameTaken)
    return new AppError('UserDuplicateLogin', { login: value }, { cause: error })
  if (constraint === 'user_email_key') return new AppError('UserDuplicateEmail', { email: value }, { cause: error })
  return new AppError('DatabaseUniqueKeyViolation', { column: 'user.reference', value }, { cause: error })
}
