import { randomUUID } from 'node:crypto'
import type { BaseConfig } from '../../../config/service.ts'
import type { OutgoingLimits } from '../../../platform/outgoing/limits.ts'
import { attributeTemplate } from '../../../platform/values/attribute-templates.ts'
import { attributesOf, DirectoryRefusal, type Person, type Steps } from '../model.ts'
import { createServers, type FoundEntry, type LdapConnection, TooManyEntries } from './connection.ts'
import { filterWith, isPlainLogin } from './filter.ts'

export type LdapConfig = BaseConfig['ldap']

/** Maximum number of groups of one user. */
const mostGroups = 1000

/** The result of looking for a login. */
export interface LdapFinding {
  /** Null: none. */
  readonly person: Person | null
  /** Whether the password was right. */
  readonly proved: boolean
}

/** Used to ask for groups when there is no entry. */
const nobody: FoundEntry = { dn: '', names: [], valuesOf: () => [randomUUID()] }

export type LdapDirectory = ReturnType<typeof createLdap>

/**
 * People of an LDAP directory: their entry is searched by the login, and the password is right when the server accepts it for that
 * entry.
 */
export function createLdap(limits: OutgoingLimits) {
  const servers = createServers({ limits })

  return {
    /** Binds as the search account, and looks for the entry of a login: everything that a sign-in does except for the password. */
    check: (config: LdapConfig, login: string | null, steps: Steps): Promise<Person | null> =>
      servers.use(config, steps, async (connection) => {
        if (login === null) return null
        const entry = await findEntry(connection, config, login, steps)
        return entry && asPerson(connection, config, entry, steps)
      }),

    /**
     * The person with this login, and whether the password is right. An unknown login and a wrong password take as many requests as
     * a right one: a user who is refused later gets the same answer.
     * @throws {DirectoryUnavailable} when it cannot be reached; {DirectoryRefusal} when it cannot identify the person
     */
    find: (
      config: LdapConfig,
      login: string,
      password: string,
      steps: Steps,
      found: (dn: string) => Promise<void>,
    ): Promise<LdapFinding> =>
      servers.use(config, steps, async (connection) => {
        const entry = await findEntry(connection, config, login, steps)
        const dn = entry?.dn ?? `cn=${randomUUID()},${config.userbasedn}`
        // Also called without an entry: otherwise the time would reveal which logins exist.
        await found(entry?.dn ?? `login=${login}`)
        const proved = (await connection.bind(dn, password)) && entry !== null
        steps.note(proved ? 'the password is right' : entry ? 'the password is wrong' : 'no password would be right')
        try {
          return { person: await asPerson(connection, config, entry, steps), proved }
        } catch (error) {
          // Problems with an entry are only reported to its owner.
          if (proved || !(error instanceof DirectoryRefusal)) throw error
          return { person: null, proved }
        }
      }),
  }
}

async function findEntry(
  connection: LdapConnection,
  config: LdapConfig,
  login: string,
  steps: Steps,
): Promise<FoundEntry | null> {
  const valuesOf = attributesOf([['login', [isPlainLogin(login) ? login : randomUUID()]]])
  const filter = filterWith(config.userfilter, valuesOf)
  if (filter === null) throw new DirectoryRefusal('incomplete', 'The filter of users names more than the login.')
  const names = config.usermapping.flatMap(({ value }) => attributeTemplate(value).names)
  const ofGroups = config.groupmapping.flatMap(({ group }) => attributeTemplate(group).names)
  const inFilter = attributeTemplate(config.groupfilter).names
  const attributes = requested([...names, ...ofGroups, ...inFilter])
  try {
    const [found, second] = await connection.search({ base: config.userbasedn, filter, attributes, most: 2 })
    if (second) throw new TooManyEntries()
    steps.note(found ? `the filter of users finds ${found.dn}` : 'the filter of users finds no entry')
    return found ?? null
  } catch (error) {
    if (!(error instanceof TooManyEntries)) throw error
    // The login is refused then: it would be unclear whose password it is.
    steps.note('the filter of users finds several entries, so nobody')
    return null
  }
}

async function asPerson(
  connection: LdapConnection,
  config: LdapConfig,
  entry: FoundEntry | null,
  steps: Steps,
): Promise<Person | null> {
  if (!entry) {
    if (config.groupbasedn !== '') await groupsOf(connection, config, nobody, steps)
    return null
  }
  steps.note(`attributes of the entry: ${entry.names.join(', ') || 'none'}`)
  const groups = config.groupbasedn === '' ? [entry] : await groupsOf(connection, config, entry, steps)
  const groupNames = groups.flatMap(({ valuesOf }) =>
    config.groupmapping.flatMap(({ group }) => attributeTemplate(group).expandAll(valuesOf, mostGroups)),
  )
  steps.note(`names of groups: ${groupNames.join(', ') || 'none'}`)
  return { attributes: entry.valuesOf, groupNames: [...new Set(groupNames)], vouched: 'all' }
}

async function groupsOf(
  connection: LdapConnection,
  config: LdapConfig,
  entry: FoundEntry,
  steps: Steps,
): Promise<readonly FoundEntry[]> {
  const filter = filterWith(config.groupfilter, entry.valuesOf)
  if (filter === null) {
    steps.note('the filter of groups names an attribute that the entry lacks, so it finds none')
    return []
  }
  const attributes = requested(config.groupmapping.flatMap(({ group }) => attributeTemplate(group).names))
  try {
    const found = await connection.search({ base: config.groupbasedn, filter, attributes, most: mostGroups })
    steps.note(`the filter of groups finds ${found.length}`)
    return found
  } catch (error) {
    if (!(error instanceof TooManyEntries)) throw error
    // A part of the groups would give wrong rights.
    throw new DirectoryRefusal('incomplete', `The filter of groups finds more than ${mostGroups} entries.`)
  }
}

/** The requested attributes; `1.1` means none (RFC 4511, 4.5.1.8). */
function requested(names: readonly string[]): string[] {
  const wanted = [...new Set(names)].filter((name) => name.toLowerCase() !== 'dn')
  return wanted.length > 0 ? wanted : ['1.1']
}
