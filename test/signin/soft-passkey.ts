import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { BrowserAnswer } from './sign-in-browser.ts'

/** What a page hands to the device. */
export interface AskedOfDevice {
  readonly act: string
  readonly challenge: string
  readonly rpId: string
  readonly userHandle: string | undefined
  readonly allowed: readonly string[]
}

/** What the page of a passkey asks the device for. */
export function askedIn({ body }: BrowserAnswer): AskedOfDevice {
  const [, act = '', written = ''] = /id="passkey" data-act="(\w+)" data-options="([^"]*)"/.exec(body) ?? []
  const text = written.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
  const options = JSON.parse(text)
  return {
    act,
    challenge: options.challenge,
    rpId: options.rp?.id ?? options.rpId,
    userHandle: options.user?.id,
    allowed: (options.allowCredentials ?? []).map(({ id }: { id: string }) => id),
  }
}

export interface Forged {
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  readonly challenge?: string
  readonly userVerified?: boolean
  readonly userPresent?: boolean
  readonly count?: number
  readonly userHandle?: string | undefined
  readonly id?: Buffer<ArrayBuffer>
  readonly crossOrigin?: boolean | undefined
  readonly topOrigin?: string
}

/** A security key made from the text of WebAuthn (level 3, sections 5.8.1, 6.1, 6.5, 8.7), which lies when it is told to. */
export class SoftPasskey {
  readonly id = randomBytes(16)
  readonly #key: { publicKey: KeyObject; privateKey: KeyObject } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  count = 0
  userHandle: string | undefined

  /** The answer to a page that sets one up. */
  create(asked: AskedOfDevice, lies: Forged & { fmt?: string; statement?: Buffer } = {}): string {
    this.userHandle = asked.userHandle
    const { x = '', y = '' } = this.#key.publicKey.export({ format: 'jwk' })
    const cose = map([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ])
    const length = Buffer.alloc(2)
    length.writeUInt16BE(this.id.length)
    const credential = Buffer.concat([Buffer.alloc(16), length, this.id, cose])
    const authData = Buffer.concat([this.#head(asked, lies, 0x40), credential])
    const attestationObject = Buffer.concat([
      Buffer.from([0xa3]),
      ...[text('fmt'), text(lies.fmt ?? 'none'), text('attStmt'), lies.statement ?? Buffer.from([0xa0])],
      ...[text('authData'), bytes(authData)],
    ])
    return this.#answer({
      clientDataJSON: clientData('webauthn.create', asked, lies),
      attestationObject: attestationObject.toString('base64url'),
      transports: ['internal'],
    })
  }

  /** The answer to a page that asks for one. */
  get(asked: AskedOfDevice, lies: Forged = {}): string {
    const data = clientData('webauthn.get', asked, lies)
    const authData = this.#head(asked, lies, 0)
    const hash = createHash('sha256').update(Buffer.from(data, 'base64url')).digest()
    const signature = sign('sha256', Buffer.concat([authData, hash]), this.#key.privateKey)
    const userHandle = 'userHandle' in lies ? lies.userHandle : this.userHandle
    return this.#answer(
      {
        clientDataJSON: data,
        authenticatorData: authData.toString('base64url'),
        signature: signature.toString('base64url'),
        ...(userHandle === undefined ? {} : { userHandle }),
      },
      lies.id,
    )
  }

  #head(asked: AskedOfDevice, lies: Forged, more: number): Buffer {
    const { rpId = asked.rpId, userPresent = true, userVerified = true, count = ++this.count } = lies
    const flags = Buffer.from([(userPresent ? 1 : 0) | (userVerified ? 4 : 0) | more])
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(count)
    return Buffer.concat([createHash('sha256').update(rpId).digest(), flags, counter])
  }

  #answer(response: object, id = this.id): string {
    const name = id.toString('base64url')
    return JSON.stringify({ id: name, rawId: name, type: 'public-key', response })
  }
}

function clientData(type: string, asked: AskedOfDevice, lies: Forged): string {
  const { origin = 'http://localhost:8080', challenge = asked.challenge, topOrigin } = lies
  // Devices of before level 2 say nothing of it.
  const crossOrigin = 'crossOrigin' in lies ? lies.crossOrigin : false
  const json = JSON.stringify({ type: lies.type ?? type, challenge, origin, crossOrigin, topOrigin })
  return Buffer.from(json).toString('base64url')
}

/** CBOR (RFC 8949), as much of it as there is in a key. */
function head(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value])
  if (value < 256) return Buffer.from([(major << 5) | 24, value])
  return Buffer.from([(major << 5) | 25, value >> 8, value & 255])
}
const integer = (value: number): Buffer => (value < 0 ? head(1, -1 - value) : head(0, value))
const bytes = (value: Buffer): Buffer => Buffer.concat([head(2, value.length), value])
const text = (value: string): Buffer => Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
const map = (entries: readonly (readonly [number, number | Buffer])[]): Buffer =>
  Buffer.concat([
    head(5, entries.length),
    ...entries.flatMap(([key, value]) => [integer(key), typeof value === 'number' ? integer(value) : bytes(value)]),
  ])
