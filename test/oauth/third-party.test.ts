import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hash } from 'bcryptjs'
import * as oauth from 'oauth4webapi'
import { TestVisitor } from '../signin/sign-in-browser.ts'
import { createUsers } from '../signin/support.ts'
import { startService, type TestService } from '../support/service.ts'

/** With everything that is written otherwise on the way. */
const secret = 's3 cr+e:t%41/\u00fc&='

/** A client that knows nothing of us but the standards. */
let svc: TestService
let issuer: URL
before(async () => {
  svc = await startService({
    externalUrl: 'http://localhost:8080',
    loginAllowRedirects: ['https://client.example'],
    oauthClients: [
      { id: 'third', secret: null, redirectURIs: ['https://client.example/cb'], scopes: null, pkce: 'required' },
      {
        ...{ id: 'secretive: 1', secret: await hash(secret, 4) },
        ...{ redirectURIs: [], scopes: null, pkce: 'required' },
      },
    ],
  })
  await createUsers(svc, { user: { login: 'anna', email: 'anna@example.org' } })
  issuer = new URL('http://localhost:8080')
})
after(() => svc[Symbol.asyncDispose]())

/** Requests of the library go to the service without a socket. */
const options = {
  [oauth.allowInsecureRequests]: true,
  async [oauth.customFetch](
    url: string,
    { method, headers, body }: { method: string; headers: Record<string, string>; body?: unknown },
  ) {
    const { pathname, search } = new URL(url)
    const payload = body === undefined || body === null ? undefined : String(body)
    const response = await svc.inject({
      method: method as 'GET',
      url: pathname + search,
      headers,
      ...(payload === undefined ? {} : { payload }),
    })
    const lines = Object.entries(response.headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((one): [string, string] => [name, String(one)]),
    )
    return new Response(response.body === '' ? null : response.body, { status: response.statusCode, headers: lines })
  },
}

test('RFC 6749, 6750: a confidential client written with oauth4webapi proves its secret in either way, and is told of a rejected token', async () => {
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options }),
  )
  assert.equal((await svc.as('root').post('/config/system/config/login/guest', true)).status, 200)
  const client: oauth.Client = { client_id: 'secretive: 1' }
  const parameters = new URLSearchParams({ scope: 'read' })
  const grant = (auth: oauth.ClientAuth) =>
    oauth.clientCredentialsGrantRequest(server, client, auth, parameters, options)
  for (const way of [oauth.ClientSecretBasic, oauth.ClientSecretPost]) {
    const tokens = await oauth.processClientCredentialsResponse(server, client, await grant(way(secret)))
    assert.deepEqual([tokens.scope, tokens.refresh_token], ['read', undefined])
    await assert.rejects(
      async () => oauth.processClientCredentialsResponse(server, client, await grant(way(`${secret}!`))),
      (error: oauth.ResponseBodyError | oauth.WWWAuthenticateChallengeError) =>
        error instanceof oauth.WWWAuthenticateChallengeError || error.error === 'invalid_client',
      way.name,
    )
  }
  assert.equal((await svc.as('root').post('/config/system/config/login/guest', false)).status, 200)
  const refused = await oauth.userInfoRequest(server, client, 'unknown', options)
  await assert.rejects(
    oauth.processUserInfoResponse(server, client, oauth.skipSubjectCheck, refused),
    (error: oauth.WWWAuthenticateChallengeError) => {
      assert.deepEqual(
        error.cause.map(({ scheme, parameters: said }) => [scheme, said.error]),
        [['bearer', 'invalid_token']],
      )
      return true
    },
  )
})

test('RFC 8414, 7636, 9207, 6749, 7009, 7662: a client written with oauth4webapi signs in, refreshes, introspects, revokes', async () => {
  const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options })
  const server = await oauth.processDiscoveryResponse(issuer, discovered)
  const client: oauth.Client = { client_id: 'third' }
  const clientAuth = oauth.None()
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const redirect_uri = 'https://client.example/cb'
  const address = new URL(server.authorization_endpoint ?? '')
  for (const [name, value] of Object.entries({
    client_id: client.client_id,
    redirect_uri,
    response_type: 'code',
    scope: 'offline read',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })) {
    address.searchParams.set(name, value)
  }
  const visitor = new TestVisitor(svc)
  const page = await visitor.get(address.pathname + address.search)
  const done = await visitor.submit(page, { login: 'anna', password: 'anna' })
  assert.ok(done.location)
  const parameters = oauth.validateAuthResponse(server, client, done.location, state)
  assert.throws(() => oauth.validateAuthResponse(server, client, done.location ?? issuer, 'another-state'))
  const mixedUp = { ...server, issuer: 'https://other.example' }
  assert.throws(() => oauth.validateAuthResponse(mixedUp, client, done.location ?? issuer, state), 'RFC 9207')

  const answer = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    clientAuth,
    parameters,
    redirect_uri,
    verifier,
    options,
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer)
  assert.equal(tokens.scope, 'offline read')
  const info = await oauth.userInfoRequest(server, client, tokens.access_token, options)
  assert.equal((await oauth.processUserInfoResponse(server, client, oauth.skipSubjectCheck, info)).sub, 'anna')

  const again = await oauth.refreshTokenGrantRequest(server, client, clientAuth, tokens.refresh_token ?? '', options)
  const next = await oauth.processRefreshTokenResponse(server, client, again)
  assert.notEqual(next.refresh_token, tokens.refresh_token)
  const inspect = async (token: string) => {
    const response = await oauth.introspectionRequest(server, client, clientAuth, token, options)
    return oauth.processIntrospectionResponse(server, client, response)
  }
  const active = await inspect(next.access_token)
  assert.deepEqual([active.active, active.sub, active.client_id], [true, 'anna', 'third'])
  const revoked = await oauth.revocationRequest(server, client, clientAuth, next.refresh_token ?? '', options)
  await oauth.processRevocationResponse(revoked)
  for (const token of [next.access_token, tokens.access_token]) assert.equal((await inspect(token)).active, false)

  const reused = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    clientAuth,
    parameters,
    redirect_uri,
    verifier,
    options,
  )
  await assert.rejects(
    oauth.processAuthorizationCodeResponse(server, client, reused),
    (error: oauth.ResponseBodyError) => error.error === 'invalid_grant',
  )
})
