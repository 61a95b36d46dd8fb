import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { TestService } from '../support/service.ts'
import { type BrowserAnswer, TestVisitor } from './sign-in-browser.ts'

/** The code of an authenticator app (RFC 6238), `later` steps of 30 seconds from now; written from the RFC. */
export function codeAt(key: Buffer, later = 0, now = Date.now()): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000) + later))
  const mac = createHmac('sha1', key).update(counter).digest()
  const offset = (mac[19] ?? 0) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** RFC 4648, section 6. */
export function fromBase32(text: string): Buffer {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...text.replaceAll(/[^A-Z2-7]/g, '')].map((c) => alphabet.indexOf(c).toString(2).padStart(5, '0'))
  return Buffer.from(
    bits
      .join('')
      .match(/.{8}/g)
      ?.map((byte) => Number.parseInt(byte, 2)) ?? [],
  )
}

export const pathOf = ({ location }: BrowserAnswer): string => `${location?.pathname}${location?.search}`

/** What comes to somebody who looks at the page of an answer that leads on. */
export async function follow(visitor: TestVisitor, answer: BrowserAnswer): Promise<BrowserAnswer> {
  assert.ok([302, 303].includes(answer.status), `${answer.status} ${answer.body.slice(0, 300)}`)
  return visitor.get(pathOf(answer))
}

export const keyIn = ({ body }: BrowserAnswer): Buffer =>
  fromBase32(/id="key"><strong>([A-Z2-7 ]+)<\/strong>/.exec(body)?.[1] ?? '')

export const codesIn = ({ body }: BrowserAnswer): string[] =>
  [...body.matchAll(/<li><code>([^<]+)<\/code>/g)].map(([, code = '']) => code)

/** The code of the client, when the pages are done. */
export const clientCodeOf = ({ location }: BrowserAnswer): string | null =>
  location?.pathname === '/app/callback' ? location.searchParams.get('code') : null

export interface Enrolled {
  readonly key: Buffer
  readonly recoveryCodes: string[]
  /** Of a request of the session that the sign-in ended with: it is bound to the browser. */
  readonly headers: Record<string, string>
}

/** Signs in for the first time, sets up an app, and comes to the end. */
export async function enrol(svc: TestService, login: string, now = Date.now()): Promise<Enrolled> {
  const visitor = new TestVisitor(svc)
  const page = await follow(visitor, await visitor.signIn(login, login))
  const key = keyIn(page)
  const shown = await visitor.submit(page, { code: codeAt(key, 0, now) })
  const back = await visitor.submit(shown, {})
  const done = await follow(visitor, back)
  const { body } = await visitor.redeem(clientCodeOf(done) ?? '')
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return { key, recoveryCodes: codesIn(shown), headers: { authorization: `Bearer ${body.access_token}`, cookie } }
}

/** Steps of time go by: the code of now works again. */
export const laterOn = (svc: TestService) => svc.db.query('update user_factor set totp_last_step = 0')
