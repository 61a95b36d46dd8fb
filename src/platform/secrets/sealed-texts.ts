import { AppError } from '../errors.ts'
import type { Seal } from './seal.ts'

/** A stored secret that no key here opens: kept as it is, in case its key comes back. */
export class LockedSecret {
  readonly sealed: string
  /** The part of it that is shown. */
  readonly shown: string

  constructor(sealed: string, shown: string) {
    this.sealed = sealed
    this.shown = shown
  }
}

/** A secret of the settings of an instance, in memory. */
export type Secret = string | LockedSecret

/** The plain secret. @throws {AppError} `ServiceUnavailable` when no key here opens it. */
export function opened(secret: Secret, name: string): string {
  if (typeof secret === 'string') return secret
  const message = `${name} is sealed with a key that is not here: enter it again, or give the service its secret key back.`
  throw new AppError('ServiceUnavailable', { name }, { message })
}

/** A sealed text in its JSON form. */
interface SealedText {
  readonly $sealed: string
  readonly shown: string
}

export type SealedTexts = ReturnType<typeof createSealedTexts>

/** Texts in JSON that are stored sealed; `about` is the record to which they belong. */
export function createSealedTexts(seal: Pick<Seal, 'seal' | 'open' | 'prefix'>) {
  return {
    /** The stored form of a secret. */
    async seal(secret: Secret, about: string, shown: string): Promise<SealedText> {
      if (typeof secret !== 'string') return { $sealed: secret.sealed, shown: secret.shown }
      return { $sealed: (await seal.seal(Buffer.from(secret), about)).toString('base64url'), shown }
    },

    /** The stored value with its secret; a value that is not sealed is returned as it is. */
    async open(stored: unknown, about: string): Promise<unknown> {
      if (!isSealed(stored)) return stored
      const text = await seal.open(Buffer.from(stored.$sealed, 'base64url'), about)
      return text === null ? new LockedSecret(stored.$sealed, stored.shown) : text.toString()
    },

    /** Whether it is sealed with the current key. */
    async isPresent(stored: unknown): Promise<boolean> {
      const prefix = await seal.prefix()
      return isSealed(stored) && Buffer.from(stored.$sealed, 'base64url').subarray(0, prefix.length).equals(prefix)
    },
  }
}

function isSealed(stored: unknown): stored is SealedText {
  return typeof stored === 'object' && stored !== null && '$sealed' in stored && typeof stored.$sealed === 'string'
}
