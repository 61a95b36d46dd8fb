import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { createLimiter } from '../platform/limits/limiter.ts'
import { normalized } from '../platform/values/text.ts'

const derive = promisify(argon2)

/** The cost of one hash, for the machine and for an attacker who has the hashes. */
export interface PasswordCost {
  /** KiB */
  memory: number
  passes: number
  parallelism: number
}

/** About 30 ms here. @see RFC 9106; OWASP password storage: 19 MiB, two passes, one lane. */
export const usualCost: PasswordCost = { memory: 19 * 1024, passes: 2, parallelism: 1 }
const tagLength = 32

export interface Watch {
  /** The name of the share (a network) to which the work counts. */
  share?: string
  before?: () => Promise<void>
  /** Whether the sign-in is valid for another reason. */
  otherwise?: () => Promise<boolean>
  failed?: () => Promise<void>
}

export type Passwords = ReturnType<typeof createPasswords>

/** Password hashes (argon2id, PHC strings). At most two are computed at a time, for PINs one: each takes 19 MiB. */
export function createPasswords(cost: PasswordCost = usualCost, concurrency = 2) {
  const limiter = createLimiter({ concurrency, maxWaiting: 200, maxWaitingOfShare: 100 })
  /** Verified when a user has no hash, so that both cases take the same time. */
  const decoy = phc(cost, 'A'.repeat(22), 'A'.repeat(43))

  return {
    hash: (password: string, share?: string): Promise<string> => limiter.run(() => hashPassword(password, cost), share),

    /**
     * Whether the password belongs to the hash; `null` takes as long and is never right. `before` runs when it is this password's
     * turn, and an error in it ends the verification; `otherwise` and `failed` run before it is the next one's turn. So failures
     * can be counted exactly, however many requests come at once.
     */
    verify: (
      password: string,
      hash: string | null,
      { share, before, otherwise, failed }: Watch = {},
    ): Promise<boolean> =>
      limiter.run(async () => {
        await before?.()
        const fits =
          ((await verifyPassword(password, hash ?? decoy)) && hash !== null) || ((await otherwise?.()) ?? false)
        if (!fits) await failed?.()
        return fits
      }, share),
  }
}

async function hashPassword(password: string, cost: PasswordCost): Promise<string> {
  const salt = randomBytes(16)
  const tag = await digest(password, salt, cost, tagLength)
  return phc(cost, encode(salt), encode(tag))
}

function phc({ memory, passes, parallelism }: PasswordCost, salt: string, tag: string): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${salt}$${tag}`
}

async function verifyPassword(password: string, hash: string): Promise<boolean> {
  const [, , , parameters = '', salt = '', tag = ''] = hash.split('$')
  const [memory, passes, parallelism] = (/^m=(\d+),t=(\d+),p=(\d+)$/.exec(parameters) ?? []).slice(1).map(Number)
  if (memory === undefined || passes === undefined || parallelism === undefined) return false
  const expected = Buffer.from(tag, 'base64')
  const actual = await digest(password, Buffer.from(salt, 'base64'), { memory, passes, parallelism }, expected.length)
  return timingSafeEqual(actual, expected)
}

function digest(password: string, nonce: Buffer, { memory, passes, parallelism }: PasswordCost, length: number) {
  const message = normalized(password, 'NFKC')
  return derive('argon2id', { message, nonce, parallelism, tagLength: length, memory, passes })
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}
