import { createCipheriv, createDecipheriv, createHmac, hash, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

export interface SealOptions {
  readonly dataDir: string
  /** The key of the configuration; null: the key in the data folder is used. */
  readonly secretKey: string | null
  /** The previous key: still opens, but no longer seals. */
  readonly secretKeyBefore: string | null
}

interface Key {
  readonly id: Buffer
  readonly sealing: Buffer
  readonly derived: (use: string) => Buffer
}

const version = 1
const [idLength, nonceLength, tagLength] = [8, 12, 16]

export type Seal = ReturnType<typeof createSeal>

/**
 * Encrypts secrets that the service needs in plain form (AES-256-GCM): the database alone, or a backup of it, does not reveal them.
 * A sealed value contains the id of its key, so that keys can be replaced one after the other.
 */
export function createSeal({ dataDir, secretKey, secretKeyBefore }: SealOptions) {
  const path = join(dataDir, 'secret-key')
  let kept: Promise<readonly Key[]> | undefined

  /** The first key seals. A key in the data folder also opens when the configuration has another one. */
  function keys(): Promise<readonly Key[]> {
    kept ??= readKeys().catch((error: unknown) => {
      kept = undefined
      throw error
    })
    return kept
  }

  async function readKeys(): Promise<readonly Key[]> {
    const stored = secretKey === null ? await ownKey(dataDir, path) : await readOwn(path)
    return [secretKey, secretKeyBefore, stored].filter((one) => one !== null).map(keyOf)
  }

  async function first(): Promise<Key> {
    const [key] = await keys()
    if (!key) throw new Error('there is no key')
    return key
  }

  return {
    /** @param about the record of the secret: the value can only be opened for the same record. */
    async seal(secret: Buffer, about: string): Promise<Buffer> {
      const { id, sealing } = await first()
      const nonce = randomBytes(nonceLength)
      const cipher = createCipheriv('aes-256-gcm', sealing, nonce).setAAD(Buffer.from(about))
      const sealed = Buffer.concat([cipher.update(secret), cipher.final()])
      return Buffer.concat([Buffer.from([version]), id, nonce, cipher.getAuthTag(), sealed])
    },

    /** `null`: none of the keys opens it. */
    async open(sealed: Buffer, about: string): Promise<Buffer | null> {
      const at = 1 + idLength
      const named = sealed.subarray(1, at)
      const key = (await keys()).find(({ id }) => id.equals(named))
      if (sealed[0] !== version || !key) return null
      const tag = sealed.subarray(at + nonceLength, at + nonceLength + tagLength)
      if (tag.length !== tagLength) return null
      const decipher = createDecipheriv('aes-256-gcm', key.sealing, sealed.subarray(at, at + nonceLength))
      decipher.setAAD(Buffer.from(about)).setAuthTag(tag)
      try {
        return Buffer.concat([decipher.update(sealed.subarray(at + nonceLength + tagLength)), decipher.final()])
      } catch {
        return null
      }
    },

    /** Ids of the existing keys, which are in sealed values after the version. Creates no key. */
    async names(): Promise<readonly Buffer[]> {
      const there = [secretKey, secretKeyBefore, await readOwn(path)].filter((one) => one !== null)
      return there.map((one) => keyOf(one).id)
    },

    /** The prefix of values that are sealed now. */
    async prefix(): Promise<Buffer> {
      return Buffer.concat([Buffer.from([version]), (await first()).id])
    },

    /** A hash that cannot be computed without the key: for values that are short enough to be guessed. */
    async hash(text: string): Promise<Buffer> {
      return createHmac('sha256', (await first()).derived('hash'))
        .update(text)
        .digest()
    },

    /**
     * A key that is derived from the current secret key for one use (HKDF): for values that this service alone creates and checks.
     */
    async keyFor(use: string): Promise<Buffer> {
      return (await first()).derived(`key ${use}`)
    },
  }
}

function keyOf(secret: string): Key {
  const derived = (use: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', `strongroom ${use}`, 32))
  return {
    id: hash('sha256', derived('name'), 'buffer').subarray(0, idLength),
    sealing: derived('seal'),
    derived,
  }
}

async function readOwn(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim() || null
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * The key in the data folder, created when it is first needed. If two processes create one, one of them wins, with a complete file.
 */
async function ownKey(folder: string, path: string): Promise<string> {
  const there = await readOwn(path)
  if (there !== null) return there
  const written = join(folder, `secret-key-${randomUUID()}`)
  await mkdir(folder, { recursive: true })
  try {
    {
      await using file = await open(written, 'wx', 0o600)
      await file.writeFile(`${randomBytes(32).toString('base64url')}\n`)
      await file.sync()
    }
    await link(written, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(written, { force: true })
  }
  const made = await readOwn(path)
  if (made === null) throw new Error(`${path} is empty`)
  return made
}
