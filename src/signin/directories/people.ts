import { randomUUID } from 'node:crypto'
import type { EventLog } from '../../events/service.ts'
import { identityKey, type StoredUser } from '../../people/model.ts'
import type { UserInput } from '../../people/schema.ts'
import { draftUser, duplicateValue, nameTaken, type Principals, signInObstacle, users } from '../../people/service.ts'
import { AppError } from '../../platform/errors.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'

import type { Sessions } from '../sessions/service.ts'
import { groupsByRules, setAutomaticGroups } from './groups.ts'
import { findingValue, type MappedFields, mappedFields } from './mapping.ts'
import { type DirectoryKind, DirectoryRefusal, type Mapping, type Person, type Steps } from './model.ts'
import { type Speaker, storeIdentified } from './status-store.ts'

/** Maximum number of group names for the comparison with rules. */
const mostNames = 1000

export interface PeopleDependencies {
  db: Db
  events: EventLog
  sessions: Sessions
  principals: Principals
  clock: () => Date
}

type Names = Person['groupNames']

export type DirectoryPeople = ReturnType<typeof createPeople>

/** Users of this instance for people of directories: found by the configured value, created when unknown, kept up to date. */
export function createPeople({ db, events, sessions, principals, clock }: PeopleDependencies) {
  /** The stored user of a person, and the groups of the person. Nothing is written. */
  async function look(tx: Tx, kind: DirectoryKind, by: Mapping['userupdatecolumn'], key: string, names: Names) {
    // Two first sign-ins at once: the second one finds the user that the first one has created.
    await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 260))', [`${by}:${key}`], 'directory_lock')
    const [stored = null] = await users.lockUsers(tx, [(await findStored(tx, by, key)) ?? 0], [])
    const groups = await groupsByRules(tx, kind, names.slice(0, mostNames))
    return { stored, groups }
  }

  /** @param only the expected user; null: any user, created if there is none. Returns null when it is another user. */
  async function write(
    tx: Tx,
    mapping: Mapping,
    { person, speaker, only }: { person: Person; speaker: Speaker; only: number | null },
    steps: Steps,
  ): Promise<number | null> {
    const kind = kindOf(speaker)
    const fields = mappedFields(mapping, person)
    const by = mapping.userupdatecolumn
    const value = findingValue(mapping, fields)
    const { stored, groups } = await look(tx, kind, by, keyOf(by, value), person.groupNames)
    if (only !== null && stored?.id !== only) return null
    if (stored) assertTheSame(stored, kind, by, value)
    if (person.vouched !== 'all' && fields.email === undefined)
      steps.note('no address that the directory has made sure of')
    const join = (id: number): Promise<boolean> =>
      setAutomaticGroups(
        tx,
        id,
        kind,
        groups.map((group) => group.id),
      )
    const moved = stored ? await join(stored.id) : false
    if (stored) await storeIdentified(tx, stored.id, speaker)
    // After all other statements (see `rehearse`).
    if (stored) assertMayEnter(stored, clock())
    steps.note(stored ? `user ${stored.id} is found by ${by}` : `no user is found by ${by}: one is made`)
    const id = await save(tx, kind, fields, stored, steps)
    const joined = stored ? moved : await join(id)
    steps.note(`groups by rules: ${groups.map((group) => group.name ?? group.id).join(', ') || 'none'}`)
    if (joined) {
      await sessions.changed(tx, [id])
      await principals.changed(tx)
    }
    if (!stored) await storeIdentified(tx, id, speaker)
    return id
  }

  /** Creates or changes the user; nothing is written when nothing has changed. */
  async function save(
    tx: Tx,
    kind: DirectoryKind,
    fields: MappedFields,
    stored: StoredUser | null,
    steps: Steps,
  ): Promise<number> {
    const now = clock()
    const input = { user: { ...fields, ...(stored ? {} : { type: kind }) } } as UserInput
    const draft = draftUser(input, stored, 'directory', now)
    if (stored && Object.entries(fields).every(([name, value]) => fieldOf(stored, name) === value)) return stored.id
    const id = stored?.id ?? (await users.newUserIds(tx, 1))[0] ?? 0
    const row: users.UserRow = {
      ...draft,
      // The directory vouches for its address, so no confirmation is requested for it.
      confirm_email_sent_at: stored?.confirmEmailSentAt ?? null,
      email_confirmed_at:
        draft.confirm_email && fields.email !== undefined
          ? (draft.email_confirmed_at ?? now)
          : draft.email_confirmed_at,
      id,
      version: (stored?.version ?? 0) + 1,
      password_hash: null,
      system_rights: stored?.systemRights ?? {},
      acl: stored?.acl ?? [],
      owner_user: stored?.owner.userId ?? null,
      owner_group: stored?.owner.groupId ?? null,
    }
    await (stored ? users.updateUsers(tx, [row]) : users.insertUsers(tx, [row]))
    if (stored) await sessions.changed(tx, [id])
    await principals.changed(tx)
    const info = { login: row.login, displayname: row.generated_displayname, reference: row.reference }
    const type = stored ? 'USER_UPDATE' : 'USER_INSERT'
    const about = { basetype: 'user', objectId: id, objectVersion: row.version, info } as const
    await events.append(tx, [{ type, actor: null, ...about }])
    steps.note(stored ? 'the user is changed' : `user ${id} is made`)
    return id
  }

  function written(mapping: Mapping, about: Parameters<typeof write>[2], steps: Steps): Promise<number | null> {
    return db
      .transaction((tx) => write(tx, mapping, about, steps))
      .catch((error: unknown) => {
        throw asRefusal(error)
      })
  }

  return {
    /** The user of a person. @throws {DirectoryRefusal} with a sentence for the person and the administrator */
    async accept(speaker: Speaker, mapping: Mapping, person: Person, steps: Steps): Promise<number> {
      const id = await written(mapping, { person, speaker, only: null }, steps)
      if (id === null) throw new Error('somebody is always found or made')
      return id
    },

    /** Takes over the directory's data about a user. False: the data belongs to another user, or to none here. */
    async confirm(userId: number, speaker: Speaker, mapping: Mapping, person: Person, steps: Steps): Promise<boolean> {
      return (await written(mapping, { person, speaker, only: userId }, steps)) !== null
    },

    /** The user that a person would become; nothing is written. @throws {DirectoryRefusal} */
    async preview(kind: DirectoryKind, mapping: Mapping, person: Person) {
      const fields = mappedFields(mapping, person)
      const by = mapping.userupdatecolumn
      const value = findingValue(mapping, fields)
      return db.transaction(async (tx) => {
        const { stored, groups } = await look(tx, kind, by, keyOf(by, value), person.groupNames)
        if (stored) {
          assertTheSame(stored, kind, by, value)
          assertMayEnter(stored, clock())
        }
        return {
          ...(stored ? { _id: stored.id } : {}),
          fields,
          group_names: person.groupNames.slice(0, mostNames),
          groups: groups.map(({ id, name }) => ({ _id: id, ...(name === null ? {} : { name }) })),
        }
      })
    },

    /**
     * Runs the same statements as `accept`, for a caller who has not proved to be that person, and changes nothing: so a right
     * password without an acceptable user takes as long as a wrong one. Returns the user; 0: none.
     */
    async rehearse(speaker: Speaker, mapping: Mapping, person: Person | null): Promise<number> {
      const kind = kindOf(speaker)
      const by = mapping.userupdatecolumn
      const key = keyOf(by, (person && findingValueIn(mapping, person)) ?? randomUUID())
      return db.transaction(async (tx) => {
        const { stored } = await look(tx, kind, by, key, person?.groupNames ?? [])
        await setAutomaticGroups(tx, 0, kind, [])
        await storeIdentified(tx, 0, speaker)
        return stored?.id ?? 0
      })
    },
  }
}

const kindOf = ({ kind }: Speaker): DirectoryKind => (kind === 'ldap' ? 'ldap' : 'sso')

/** The value by which the user is found; null: the directory's data is unusable, which only its owner may learn. */
function findingValueIn(mapping: Mapping, person: Person): string | null {
  try {
    return findingValue(mapping, mappedFields(mapping, person))
  } catch (error) {
    if (error instanceof DirectoryRefusal) return null
    throw error
  }
}

function keyOf(by: Mapping['userupdatecolumn'], value: string): string {
  return by === 'reference' ? value : identityKey(value)
}

async function findStored(from: Queryable, by: Mapping['userupdatecolumn'], key: string): Promise<number | null> {
  const column = by === 'reference' ? 'reference' : `${by}_key`
  const { rows } = await from.query<{ id: number }>(
    `select id from "user" where ${column} = $1`,
    [key],
    `directory_user_${by}`,
  )
  return rows[0]?.id ?? null
}

/**
 * No person becomes a user of another kind through a directory, which may let people choose logins and addresses: an administrator
 * changes the type of an account that is to use a directory. Nor does a person become another user of the same directory: two names
 * that are equal here may be two people there.
 */
function assertTheSame(stored: StoredUser, kind: DirectoryKind, by: Mapping['userupdatecolumn'], value: string): void {
  if (stored.type === kind && stored[by] !== value) {
    const text = `The ${by} ${JSON.stringify(value)} is written ${JSON.stringify(stored[by])} in the account ${stored.id}: an administrator can say that they are the same person by writing it so there.`
    throw new DirectoryRefusal('conflict', text)
  }
  if (stored.type === kind) return
  const text = `The ${by} belongs to an account of type ${stored.type}; an administrator can give it the type ${kind}.`
  throw new DirectoryRefusal('conflict', text)
}

function assertMayEnter(stored: StoredUser, now: Date): void {
  const { loginDisabled, loginValidFrom, loginValidTo } = stored
  const standing = { loginDisabled, loginValidFrom, loginValidTo, archived: stored.archivedAt !== null }
  const obstacle = signInObstacle({ ...standing, emailUnconfirmed: false }, now)
  if (obstacle) throw new DirectoryRefusal('locked', `The account may not sign in (${obstacle}).`)
}

function fieldOf(stored: StoredUser, name: string): unknown {
  if (name === 'login' || name === 'email' || name === 'reference') return stored[name]
  return stored.profile[name]
}

function asRefusal(error: unknown): unknown {
  const duplicate = duplicateValue(error)
  if (duplicate) {
    const column = duplicate.constraint.replace(/^user_|_key$/g, '').replace(/_key$/, '')
    const what = duplicate.constraint === nameTaken ? 'login or address' : column
    return new DirectoryRefusal('conflict', `Another account has the same ${what} already.`)
  }
  if (error instanceof AppError && error.status === 400) return new DirectoryRefusal('incomplete', error.message)
  return error
}
