import type { Login } from '../oauth/login/login.ts'
import { type FactorMethod, isFactorMethod } from './methods.ts'

/** Name of the step, under which a sign-in keeps what its pages need. */
export const stepName = 'twoFactor'

export interface FactorNotes {
  /** What the user has proved in this sign-in. */
  readonly proved: FactorMethod | null
  /** Secret of the authenticator app that is just being set up. */
  readonly secret: Buffer | null
}

export function notesOf({ notes }: Pick<Login, 'notes'>): FactorNotes {
  const kept = notes[stepName]
  if (typeof kept !== 'object' || kept === null) return { proved: null, secret: null }
  const { proved, secret } = kept as Readonly<Record<string, unknown>>
  return {
    proved: isFactorMethod(proved) ? proved : null,
    secret: typeof secret === 'string' ? Buffer.from(secret, 'base64') : null,
  }
}

/** As they are stored. */
export function storedNotes({ proved, secret }: Partial<FactorNotes>): object {
  return { proved: proved ?? null, secret: secret?.toString('base64') ?? null }
}

/** The second factor of a sign-in; null: none was asked for. */
export const provedFactor = (login: Pick<Login, 'notes'>): FactorMethod | null => notesOf(login).proved
