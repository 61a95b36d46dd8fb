import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { startService, type TestService } from '../support/service.ts'
import { type BrowserAnswer, TestVisitor } from './sign-in-browser.ts'
import { createUsers, type Reachable } from './support.ts'

const origin = 'https://localhost:8080'
const redirect_uri = `${origin}/app/callback`

let svc: TestService
let https: Reachable
before(async () => {
  svc = await startService({ externalUrl: origin })
  // A proxy of this machine that speaks TLS to the browser.
  https = {
    inject: ({ headers, ...request }: InjectOptions) => {
      const sent = { ...headers, 'x-forwarded-proto': 'https', ...(headers?.origin ? { origin } : {}) }
      return svc.inject({ ...request, headers: sent })
    },
  }
  await createUsers(svc, { user: { login: 'anna' } }, { user: { login: 'eve' } })
  assert.equal((await svc.as('root').post('/config/system/config/login/keep_login', '7d')).status, 200)
})
after(() => svc[Symbol.asyncDispose]())

const keep = { auth_method: 'native', redirect_uri }

const linesOf = ({ headers }: BrowserAnswer): string[] => [headers['set-cookie'] ?? []].flat().map(String)

async function signedIn(service: Reachable, login: string): Promise<[TestVisitor, BrowserAnswer]> {
  const visitor = new TestVisitor(service)
  const done = await visitor.signIn(login, login, keep, { keep_login: '1' })
  assert.equal(done.status, 303, done.body.slice(0, 300))
  return [visitor, done]
}

const arrive = (visitor: TestVisitor): Promise<BrowserAnswer> => visitor.authorize(keep)

async function tokenOf(visitor: TestVisitor, answer: BrowserAnswer): Promise<string> {
  const code = answer.location?.searchParams.get('code') ?? ''
  const { status, body } = await visitor.redeem(code, { redirect_uri })
  assert.equal(status, 200, JSON.stringify(body))
  return body.access_token
}

async function statusIn(visitor: TestVisitor, token: string): Promise<number> {
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const headers = { authorization: `Bearer ${token}`, cookie }
  return (await svc.inject({ method: 'GET', url: '/api/v1/user/session', headers })).statusCode
}

test('over https every cookie of a sign-in is one that no neighbouring host can put there', async () => {
  const [visitor, done] = await signedIn(https, 'anna')
  const names = [...visitor.cookies.keys()].toSorted()
  assert.deepEqual(names, ['browser-id', 'device', 'keep-login', 'page'].map((one) => `__Host-svc-${one}`).toSorted())
  for (const line of linesOf(done))
    assert.match(line, /^__Host-[^;]+; (Max-Age=\d+; )?Path=\/; HttpOnly; SameSite=Lax; Secure$/)
  assert.equal(await statusIn(visitor, await tokenOf(visitor, done)), 200)
  const again = await arrive(visitor)
  assert.equal(again.status, 302)
  assert.ok(
    linesOf(again).some((line) => line.startsWith('__Host-svc-keep-login=')),
    'slides',
  )
  const out = await visitor.get('/logout')
  assert.ok(linesOf(out).some((line) => line.startsWith('__Host-svc-keep-login=;')))
  assert.equal((await arrive(visitor)).status, 200)
})

test('what a neighbouring host has put there signs nobody in, and no token is bound to it', async () => {
  const [eve] = await signedIn(https, 'eve')
  const victim = new TestVisitor(https)
  for (const [name, value] of eve.cookies) victim.cookies.set(name.replace('__Host-', ''), value)
  const planted = victim.cookies.get('svc-browser-id')
  assert.equal((await arrive(victim)).status, 200, 'the page asks who it is')
  const done = await victim.signIn('anna', 'anna', keep)
  const own = victim.cookies.get('__Host-svc-browser-id')
  assert.ok(own !== undefined && own !== planted, 'a new id in place of the planted one')
  const token = await tokenOf(victim, done)
  assert.equal(await statusIn(victim, token), 200)
  const thief = new TestVisitor(https)
  thief.cookies.set('svc-browser-id', planted ?? '')
  assert.equal(await statusIn(thief, token), 401)
})

test('a planted cookie covers none of ours', async () => {
  const [visitor] = await signedIn(https, 'anna')
  const [eve] = await signedIn(https, 'eve')
  const both = new TestVisitor(https)
  for (const [name, value] of eve.cookies) both.cookies.set(name.replace('__Host-', ''), value)
  for (const [name, value] of visitor.cookies) both.cookies.set(name, value)
  const answer = await arrive(both)
  assert.equal(answer.status, 302)
  const headers = {
    authorization: `Bearer ${await tokenOf(both, answer)}`,
    cookie: [...both.cookies].map((one) => one.join('=')).join('; '),
  }
  const session = await svc.inject({ method: 'GET', url: '/api/v1/user/session', headers })
  assert.equal(session.json().user.user.login, 'anna', session.body.slice(0, 300))
})

test('cookies from before go on and are replaced: nobody is signed out', async () => {
  // As it was: kept without the prefix.
  const [visitor, done] = await signedIn(svc, 'anna')
  const token = await tokenOf(visitor, done)
  assert.ok(visitor.cookies.has('svc-keep-login') && visitor.cookies.has('svc-browser-id'))
  const later = new TestVisitor(https)
  for (const [name, value] of visitor.cookies) later.cookies.set(name, value)
  const kept = later.cookies.get('svc-keep-login') ?? ''
  assert.equal(await statusIn(later, token), 200, 'the session goes on')
  const again = await arrive(later)
  assert.equal(again.status, 302)
  assert.equal(later.cookies.get('__Host-svc-keep-login'), kept)
  assert.equal(later.cookies.has('svc-keep-login'), false)
  assert.ok(later.cookies.has('__Host-svc-browser-id'))
  assert.equal(await statusIn(later, await tokenOf(later, again)), 200)
  assert.equal(await statusIn(later, token), 200, 'and so does the one from before')
  assert.equal((await arrive(later)).status, 302)
  assert.equal((await arrive(visitor)).status, 200, 'the old name counts no more')
})

test('over http there are the names without prefix', async () => {
  const [visitor, done] = await signedIn(svc, 'anna')
  const names = [...visitor.cookies.keys()].toSorted()
  assert.deepEqual(names, ['svc-browser-id', 'svc-device', 'svc-keep-login', 'svc-page'])
  for (const line of linesOf(done)) assert.doesNotMatch(line, /Secure/)
  assert.equal((await arrive(visitor)).status, 302)
})
