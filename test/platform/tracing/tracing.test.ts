import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTracing } from '../../../src/platform/tracing/start.ts'
import type { Json } from '../../support/client.ts'
import { startService } from '../../support/service.ts'
import { startWebhookServer, type WebhookServer } from '../../support/webhook-server.ts'

interface Span {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: Json
}

const textOf = ({ value }: Json): unknown => value.stringValue ?? Number(value.intValue)

const troubles: string[] = []
const onTrouble = (reason: string): void => void troubles.push(reason)

/** What a collector was sent. */
function spansOf({ calls }: WebhookServer): Span[] {
  return calls
    .flatMap(({ body }) => body.resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map((span: Json) => ({
      ...span,
      attributes: Object.fromEntries(span.attributes.map((one: Json) => [one.key, textOf(one)])),
    }))
}

test('a request is a trace: its statements are below it, what it sets going is as well, and no value is told', async () => {
  await using collector = await startWebhookServer()
  await using svc = await startService()
  const there = await svc.listen()
  const secret = 'nobody-is-told-this'
  const token = await svc.as('root').token()
  const end = await startTracing({ endpoint: collector.url, ratio: 1, version: '1.2.3', onTrouble })
  const traceId = 'ab'.repeat(16)
  try {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const pool = [{ pool: { _id_parent: 1, reference: secret, name: { 'en-US': secret } } }]
    const traceparent = `00-${traceId}-${'cd'.repeat(8)}-01`
    const made = await fetch(`${there}/api/v1/pool?access_token=${token}`, {
      method: 'POST',
      headers: { ...headers, traceparent, 'x-forwarded-for': '203.0.113.9' },
      body: JSON.stringify(pool),
    })
    assert.equal(made.status, 200)
    assert.equal((await fetch(`${there}/api/v1/pool/${secret}`, { headers })).status, 400)
    await svc.drain()
  } finally {
    await end()
  }
  const spans = spansOf(collector)
  const request = spans.find(({ name }) => name === 'POST /api/v1/pool')
  assert.ok(request)
  assert.deepEqual(
    [request.kind, request.traceId, request.parentSpanId, request.attributes['http.response.status_code']],
    [2, traceId, 'cd'.repeat(8), 200],
  )
  const below = spans.filter(({ parentSpanId }) => parentSpanId === request.spanId)
  assert.ok(below.some(({ attributes }) => /insert into pool/.test(`${attributes['db.query.text']}`)))
  assert.ok(below.every((span) => span.traceId === traceId && span.attributes['db.system.name'] === 'postgresql'))
  const other = spans.find(({ name }) => name.startsWith('GET /api/v1/pool'))
  assert.ok(other && other.traceId !== traceId && other.parentSpanId === undefined)
  assert.equal(other.attributes['http.response.status_code'], 400)
  const sent = collector.calls.map(({ raw }) => raw).join()
  assert.ok(!sent.includes(secret) && !sent.includes(token))
  const [{ resource }] = collector.calls[0]?.body.resourceSpans ?? []
  assert.deepEqual(
    resource.attributes.map((one: Json) => [one.key, textOf(one)]),
    [
      ['service.name', 'strongroom'],
      ['service.version', '1.2.3'],
    ],
  )
})

test('traces are kept in the share that is set, and a collector that is away holds nobody up', async () => {
  await using collector = await startWebhookServer()
  await using svc = await startService()
  const ask = async (endpoint: string, ratio: number) => {
    const end = await startTracing({ endpoint, ratio, version: '1.2.3', onTrouble })
    try {
      for (let each = 0; each < 5; each++) assert.equal((await svc.as('root').get('/pool')).status, 200)
    } finally {
      await end()
    }
  }
  await ask(collector.url, 0)
  assert.deepEqual(spansOf(collector), [])
  await ask(collector.url, 1)
  assert.equal(spansOf(collector).filter(({ name }) => name === 'GET /api/v1/pool').length, 5)
  assert.deepEqual(troubles, [])
  await ask('http://127.0.0.1:1', 1)
  assert.match(troubles.join(), /ECONNREFUSED/)
})

test('what is no trace of a caller is none', async () => {
  await using collector = await startWebhookServer()
  await using svc = await startService()
  const there = await svc.listen()
  const end = await startTracing({ endpoint: collector.url, ratio: 1, version: '1.2.3', onTrouble })
  const wrong = [
    '00-0-0-01',
    `00-${'0'.repeat(32)}-${'cd'.repeat(8)}-01`,
    `ff-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`,
    '',
  ]
  try {
    for (const traceparent of wrong)
      await fetch(`${there}/api/v1/settings`, { headers: { traceparent, 'x-forwarded-for': '203.0.113.9' } })
  } finally {
    await end()
  }
  const requests = spansOf(collector).filter(({ kind }) => kind === 2)
  assert.equal(requests.length, wrong.length)
  assert.ok(requests.every(({ parentSpanId, traceId }) => parentSpanId === undefined && traceId !== 'ab'.repeat(16)))
})

test('a trace is that of the caller only where a proxy that is trusted asks for somebody', async () => {
  await using collector = await startWebhookServer()
  await using trusting = await startService()
  await using alone = await startService({ trustedProxies: [] })
  const addresses = [await trusting.listen(), await alone.listen()]
  const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`
  const end = await startTracing({ endpoint: collector.url, ratio: 1, version: '1.2.3', onTrouble })
  try {
    for (const there of addresses) {
      await fetch(`${there}/api/v1/settings`, { headers: { traceparent } })
      await fetch(`${there}/api/v1/settings`, { headers: { traceparent, 'x-forwarded-for': '203.0.113.9' } })
    }
  } finally {
    await end()
  }
  const parents = spansOf(collector).filter(({ kind }) => kind === 2)
  assert.deepEqual(parents.map(({ parentSpanId }) => parentSpanId).sort(), [
    'cd'.repeat(8),
    undefined,
    undefined,
    undefined,
  ])
})
