import type { Tx } from '../../platform/postgres/db.ts'

/**
 * The first rows of a new database: those of all migrations, taken together. A test compares a purged instance with a new one, so a
 * migration that adds rows is entered here.
 */

const users = [
  { id: 1, login: 'root', displayname: 'Root', rights: { 'system.root': {} } },
  { id: 2, login: 'deep_link', displayname: 'Deep Link', rights: {} },
  { id: 3, login: 'oai_pmh', displayname: 'OAI/PMH', rights: {} },
  { id: 4, login: 'deleted_user', displayname: 'Deleted User', rights: {} },
]

const typesOfUsers = ['native', 'native_self_register', 'email', 'ldap', 'sso', 'anonymous', 'collection']

const groups: readonly [name: string, english: string, german: string, types: readonly string[]][] = [
  ['all', 'All Users', 'Alle Benutzer', ['system', ...typesOfUsers]],
  ['authenticated', 'Signed-in Users', 'Angemeldete Benutzer', typesOfUsers.slice(0, 5)],
  ['native', 'Local Users', 'Lokale Benutzer', ['native']],
  ['native_self_register', 'Self-registered Users', 'Selbst registrierte Benutzer', ['native_self_register']],
  ['email', 'Users Invited by Email', 'Per E-Mail eingeladene Benutzer', ['email']],
  ['ldap', 'LDAP Users', 'LDAP-Benutzer', ['ldap']],
  ['sso', 'SSO Users', 'SSO-Benutzer', ['sso']],
  ['anonymous', 'Anonymous Users', 'Anonyme Benutzer', ['anonymous']],
  ['collection', 'Anonymous Collection Users', 'Anonyme Mappenbenutzer', ['collection']],
  ['fallback', 'Fallback Group', 'Ersatzgruppe', []],
]

const pools = [
  { id: 1, parent: null, reference: 'system:root', name: { 'de-DE': 'Alle Pools', 'en-US': 'All pools' } },
  { id: 2, parent: 1, reference: 'system:standard', name: { 'de-DE': 'Standardpool', 'en-US': 'Standard pool' } },
]

const collections = [
  {
    id: 1,
    parent: null,
    path: [1],
    reference: 'system:root',
    name: { 'en-US': 'All collections', 'de-DE': 'Alle Mappen' },
  },
  {
    id: 2,
    parent: 1,
    path: [1, 2],
    reference: 'system:users',
    name: { 'en-US': 'Collections of users', 'de-DE': 'Mappen der Benutzer' },
  },
]

/** `passwordHash` is the hash of root's password. */
export async function insertFirstRows(tx: Tx, passwordHash: string | null): Promise<void> {
  // The collections of users are created together with the users.
  await tx.query(
    `insert into collection (id, parent_id, path, is_system, owner_user, reference, displayname) overriding system value
     select id, parent, path, true, 1, reference, name
     from jsonb_to_recordset($1) as n (id bigint, parent bigint, path bigint[], reference text, name jsonb) order by id`,
    [JSON.stringify(collections)],
  )
  await tx.query(
    `insert into "user" (id, type, login, login_key, reference, generated_displayname, profile, system_rights, password_hash)
     select id, 'system', login, login, 'system:' || login, displayname, jsonb_build_object('displayname', displayname), rights,
       case login when 'root' then $2 end
     from jsonb_to_recordset($1) as n (id bigint, login text, displayname text, rights jsonb)`,
    [JSON.stringify(users), passwordHash],
  )
  await tx.query(
    `insert into "group" (id, type, name, reference, displayname, member_types)
     select id, 'system', name, ':' || name, displayname, array(select jsonb_array_elements_text(types))
     from jsonb_to_recordset($1) as n (id bigint, name text, displayname jsonb, types jsonb)`,
    [
      JSON.stringify(
        groups.map(([name, english, german, types], index) => ({
          id: index + 1,
          name,
          displayname: { 'en-US': english, 'de-DE': german },
          types,
        })),
      ),
    ],
  )
  await tx.query(
    `insert into pool (id, parent_id, reference, is_system, name) overriding system value
     select id, parent, reference, true, name
     from jsonb_to_recordset($1) as n (id bigint, parent bigint, reference text, name jsonb) order by id`,
    [JSON.stringify(pools)],
  )
  await tx.query('insert into transition_event_cursor default values')
}
