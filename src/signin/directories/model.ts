/**
 * Accounts outside of this instance. A *directory* (LDAP, a SAML identity provider, an OpenID provider) identifies a *person* with
 * *attributes*. From them a user of this instance is created or found; its *group names* are compared with the rules of groups.
 */
import type { ValuesOf } from '../../platform/values/attribute-templates.ts'

/** The kind of group rules that apply, and the type of the users: `sso` is for people who come back from another server. */
export type DirectoryKind = 'ldap' | 'sso'

export interface Mapping {
  readonly usermapping: readonly { readonly key: string; readonly value: string }[]
  readonly userupdatecolumn: 'reference' | 'login' | 'email'
  readonly groupmapping: readonly { readonly group: string }[]
}

/** A person in a directory. */
export interface Person {
  readonly attributes: ValuesOf
  /** Names for comparison with the rules of groups. */
  readonly groupNames: readonly string[]
  /** Addresses that the directory has verified. */
  readonly vouched: 'all' | readonly string[]
}

/** An organisation's directory is trusted to have verified addresses, except where it says itself that it has not. */
export function vouchedBy(attributes: ValuesOf): Person['vouched'] {
  return attributes('email_verified').every((said) => said.toLowerCase() === 'true') ? 'all' : []
}

/** The directory's data cannot be used here: reported to the person, and to administrators by an event. */
export class DirectoryRefusal extends Error {
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * `conflict`: another account has login, address or reference; `incomplete`: the value by which the user is found is missing or
 * cannot be stored; `locked`: the user may not sign in now; `unproved`: the directory's answer proves nothing.
 */
export type RefusalReason = 'conflict' | 'incomplete' | 'locked' | 'unproved'

/** The directory cannot be reached now, or not with this configuration. */
export class DirectoryUnavailable extends Error {}

/** The steps so far; never with passwords, tokens or typed values. */
export interface Steps {
  note(step: string): void
  readonly all: readonly string[]
}

const longest = 2000
const most = 200

export function createSteps(now: () => number = () => performance.now()): Steps {
  const begun = now()
  const all: string[] = []
  return {
    all,
    note(step) {
      if (all.length < most) all.push(`${Math.round(now() - begun)} ms: ${printable(step).slice(0, longest)}`)
    },
  }
}

/** Names and values of directories, without characters that cannot be stored and shown on a line. */
export function printable(text: string): string {
  return text.toWellFormed().replaceAll(/\p{Cc}+/gu, ' ')
}

/** Looks attributes up in their exact spelling, else ignoring case: LDAP does not distinguish case. */
export function attributesOf(entries: Iterable<readonly [name: string, values: readonly string[]]>): ValuesOf {
  const exact = new Map<string, readonly string[]>()
  const folded = new Map<string, readonly string[]>()
  for (const [name, values] of entries) {
    exact.set(name, values)
    if (!folded.has(name.toLowerCase())) folded.set(name.toLowerCase(), values)
  }
  return (name) => exact.get(name) ?? folded.get(name.toLowerCase()) ?? []
}
