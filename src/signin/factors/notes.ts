import type { Login } from '../flows/login.ts'
import { type FactorMethod, isFactorMethod } from './methods.ts'

/** Name of the step, under which a sign-in keeps the data for its pages. */
export const stepName = 'twoFactor'

export interface FactorNotes {
  /** The method that the user has proved in this sign-in. */
  readonly proved: FactorMethod | null
  /** Secret of the authenticator app that is being set up, sealed. */
  readonly secret: Buffer | null
  /** No login was typed: a passkey identifies the user. */
  readonly byPasskey: boolean
}

export function notesOf({ notes }: Pick<Login, 'notes'>): FactorNotes {
  const kept = notes[stepName]
  if (typeof kept !== 'object' || kept === null) return { proved: null, secret: null, byPasskey: false }
  const { proved, secret, byPasskey } = kept as Readonly<Record<string, unknown>>
  return {
    proved: isFactorMethod(proved) ? proved : null,
    secret: typeof secret === 'string' ? Buffer.from(secret, 'base64') : null,
    byPasskey: byPasskey === true,
  }
}

/** The stored form of the notes. */
export function storedNotes({ proved, secret, byPasskey }: Partial<FactorNotes>): object {
  return { proved: proved ?? null, secret: secret?.toString('base64') ?? null, byPasskey: byPasskey ?? false }
}

/** The notes of a sign-in that begins with a passkey. */
export const passkeyNotes: Login['notes'] = { [stepName]: storedNotes({ byPasskey: true }) }

/** The second factor of a sign-in; null: none was required. */
export const provedFactor = (login: Pick<Login, 'notes'>): FactorMethod | null => notesOf(login).proved
