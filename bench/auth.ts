import { Pool } from 'undici'
import type { Actor } from '../src/platform/actor.ts'
import { cacheSizes } from '../src/platform/memory/byte-cache.ts'
import { divideMemory, standardMemory } from '../src/platform/memory/shares.ts'
import { createRightsService } from '../src/rights/service.ts'
import { grant, pool } from '../test/rights/support.ts'
import { type Context, openContext } from './context.ts'
import { addCrowd, type Crowd, tokenOfCrowd } from './crowd.ts'
import { load, median } from './load.ts'
import { startProcess } from './process.ts'
import { atLeast, atMost, figureOnly, type Row } from './report.ts'

const seconds = 3
const connections = 10
const rounds = 3

/** Signing in, and the cost of a known caller, on a separate service: sessions, tokens, pages, rights. */
export async function measureAuth(say: (line: string) => void): Promise<Row[]> {
  const context = await openContext('', say)
  try {
    return [
      // Later measurements also run with all these users.
      ...(await measureCrowd(context, say)),
      ...(await measureCallers(context)),
      ...(await measureRefresh(context)),
      ...(await measurePage(context)),
      ...(await measureRights()),
    ]
  } finally {
    await context.close()
  }
}

/** The same request with and without a user, in turns, so that both meet the same load of the machine. */
async function measureCallers(context: Context): Promise<Row[]> {
  const path = '/api/v1/message/mine'
  const origin = context.service.url
  const headers = await context.headers()
  const shares: number[] = []
  let last = 0
  for (let round = 0; round < rounds; round++) {
    const nobody = await load({ origin, connections, seconds, request: () => ({ path }) })
    const known = await load({ origin, connections, seconds, request: () => ({ path, headers }) })
    last = known.perSecond
    shares.push((known.perSecond / nobody.perSecond) * 100)
  }
  return [
    figureOnly('a small request with a user', last, '/s'),
    atLeast('… of the same without a user', 90, median(shares), '%'),
  ]
}

const nobody: Crowd = { users: 0, groups: 0, sessions: 0 }
const few: Crowd = { users: 100, groups: 10, sessions: 5000 }
const many: Crowd = { users: 10_000, groups: 1000, sessions: 100_000 }

/**
 * The same request with few users and sessions, and with many; each time with a session that the process has not used
 * lately, so that it is read from the database.
 */
async function measureCrowd({ dsn, service }: Context, say: (line: string) => void): Promise<Row[]> {
  const measure = async ({ sessions }: Crowd): Promise<number> => {
    let next = 0
    // Steps of a prime number, so that all are visited.
    const request = () => {
      next = (next + 7919) % sessions
      return { path: '/api/v1/message/mine', headers: { authorization: `Bearer ${tokenOfCrowd(1 + next)}` } }
    }
    return (await load({ origin: service.url, connections: 1, seconds, request })).median
  }
  await addCrowd(dsn, nobody, few)
  const before = await measure(few)
  say('10,000 users with 1,000 groups, 100,000 sessions')
  await addCrowd(dsn, few, many)
  const after = await measure(many)
  return [
    figureOnly('a session that is not in memory, where few are known (median)', before, 'ms'),
    atMost('… where 100,000 are, of 10,000 users with 1,000 groups', before * 1.5 + 0.5, after, 'ms'),
  ]
}

/** Tokens by refresh, compared with a bare server that writes the same rows in one transaction. */
async function measureRefresh(context: Context): Promise<Row[]> {
  const bare = await startProcess('bench/baseline-server.ts', [], { BENCH_DSN: context.dsn })
  try {
    const shares: number[] = []
    let last = 0
    for (let round = 0; round < rounds; round++) {
      const ours = await refreshes(context.service.url)
      const theirs = await load({
        origin: bare.url,
        connections,
        seconds,
        request: () => ({ method: 'POST', path: '/token', body: '{}' }),
      })
      last = ours
      shares.push((ours / theirs.perSecond) * 100)
    }
    return [figureOnly('tokens by refresh', last, '/s'), atLeast('… of a bare server', 30, median(shares), '%')]
  } finally {
    await bare.stop()
  }
}

/** Each connection has a session, and refreshes it over and over. */
async function refreshes(origin: string): Promise<number> {
  const clients = new Pool(origin, { connections, pipelining: 1 })
  const ask = async (form: Record<string, string>): Promise<string> => {
    const answer = await clients.request({
      method: 'POST',
      path: '/api/oauth2/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ client_id: 'web-client', ...form }).toString(),
    })
    const body = (await answer.body.json()) as { refresh_token?: string }
    if (answer.statusCode !== 200 || !body.refresh_token)
      throw new Error(`${answer.statusCode} ${JSON.stringify(body)}`)
    return body.refresh_token
  }
  const login = { grant_type: 'password', username: 'root', password: 'bench-root-password', scope: 'offline' }
  const tokens = await Promise.all(Array.from({ length: connections }, () => ask(login)))
  let count = 0
  const started = performance.now()
  await Promise.all(
    tokens.map(async (first) => {
      for (let token = first; performance.now() < started + seconds * 1000; count++) {
        token = await ask({ grant_type: 'refresh_token', refresh_token: token })
      }
    }),
  )
  const elapsed = (performance.now() - started) / 1000
  await clients.close()
  return count / elapsed
}

async function measurePage({ service }: Context): Promise<Row[]> {
  const query = new URLSearchParams({
    client_id: 'web-client',
    response_type: 'code',
    state: 'state-of-the-bench',
    redirect_uri: `${service.url}/callback`,
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  })
  const path = `/api/oauth2/auth?${query}`
  const page = await load({ origin: service.url, connections: 1, seconds, request: () => ({ path }) })
  return [atMost('sign-in page (median)', 5, page.median, 'ms'), atMost('sign-in page (p95)', 20, page.p95, 'ms')]
}

/** 200 pools with 1,000 grants to 50 groups; the caller is in all of these. */
async function measureRights(): Promise<Row[]> {
  const [pools, groups, each, callers] = [200, 50, 5, 40]
  const grants = (number: number) =>
    Array.from({ length: each }, (_, index) =>
      grant(`g${1 + ((number * each + index) % groups)}`, 'bag_read read write'),
    )
  const list = [pool(1, null), ...Array.from({ length: pools }, (_, at) => pool(2 + at, 1, grants(at)))]
  const containers = { pools: list, objecttypes: new Map() }
  const rights = createRightsService({
    containers: () => containers,
    findPeople: async () => ({ users: [], groups: [] }),
    existingTags: async () => new Set(),
    presets: async () => new Map(),
    maxBytes: divideMemory(standardMemory).callerRights,
    derivedBytes: () => 0,
  })
  const actor = (userId: number): Actor => ({
    userId,
    login: `u${userId}`,
    displayname: '',
    reference: null,
    groupIds: Array.from({ length: groups }, (_, index) => 1 + index),
    isRoot: false,
    systemRights: new Map(),
    remoteAddr: '',
    languages: [],
    session: null,
  })
  const size = () => cacheSizes().get('caller_rights')?.bytes ?? 0
  const times: number[] = []
  const before = size()
  for (let user = 1; user <= callers; user++) {
    const begun = performance.now()
    await rights.forActor(actor(user))
    times.push(performance.now() - begun)
  }
  const bytes = (size() - before) / callers
  return [
    atMost('rights of a caller: 200 pools, 50 groups, 1,000 grants', 5, median(times), 'ms'),
    atMost('… in memory', 100, bytes / 1000, 'kB'),
  ]
}
