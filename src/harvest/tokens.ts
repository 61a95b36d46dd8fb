/** Resumption tokens: the whole request and the position in its answers, signed with a key that only the service has. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Position } from './model.ts'
import { ProtocolError } from './protocol-error.ts'

/** A resumed list. */
export interface Resumed {
  readonly verb: string
  readonly metadataPrefix?: string
  readonly set?: string
  readonly from?: string
  readonly until?: string
  readonly limit: number
  /** The last record answered, or the spec of the last set. */
  readonly behind: Position | string
  /** Number of entries answered so far. */
  readonly cursor: number
  /** Number of entries when the list began. */
  readonly total: number
}

export interface TokenDeps {
  /** The same for all processes, and after a restart. */
  readonly key: () => Promise<Buffer>
  readonly now: () => number
}

/** Milliseconds for which a token is valid. */
const lifetime = 7 * 86_400_000
const longest = 8000

export function createTokens({ key, now }: TokenDeps) {
  const signatureOf = async (text: string): Promise<Buffer> =>
    createHmac('sha256', await key())
      .update(text)
      .digest()
      .subarray(0, 24)

  return {
    async issue(resumed: Resumed): Promise<{ readonly token: string; readonly expires: Date }> {
      const expires = Math.ceil((now() + lifetime) / 1000) * 1000
      const text = Buffer.from(JSON.stringify({ ...resumed, expires })).toString('base64url')
      const signature = await signatureOf(text)
      return { token: `${text}.${signature.toString('base64url')}`, expires: new Date(expires) }
    },

    /** @throws {ProtocolError} `badResumptionToken` */
    async read(token: string, verb: string): Promise<Resumed> {
      const [text = '', signature = '', ...more] = token.length > longest ? [] : token.split('.')
      const sent = Buffer.from(signature, 'base64url')
      const own = await signatureOf(text)
      const isOurs = more.length === 0 && sent.length === own.length && timingSafeEqual(sent, own)
      if (!isOurs || sent.toString('base64url') !== signature) throw refused('is none of this repository')
      const { expires, ...resumed } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Resumed & {
        expires: number
      }
      if (expires <= now()) throw refused('has expired')
      if (resumed.verb !== verb) throw refused(`belongs to a request of ${resumed.verb}`)
      return resumed
    },
  }
}

export type Tokens = ReturnType<typeof createTokens>

const refused = (reason: string): ProtocolError => new ProtocolError('badResumptionToken', `The token ${reason}.`)
