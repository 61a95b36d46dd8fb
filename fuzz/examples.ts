import type { Example } from '../src/system/openapi/examples.ts'
import type { DescribedOperation, Description } from './description.ts'
import { wireOf } from './request.ts'
import { assembled, type Stage, startOrigin } from './stage.ts'

/** Sends the seed of every operation to a service that holds the world, and keeps what was sent and answered. */
export async function recordExamples(): Promise<{ examples: Record<string, Example>; description: Description }> {
  await using origin = await startOrigin()
  const { description } = origin
  const examples: Record<string, Example> = {}
  await using stage = await origin.stage()
  for (const operation of description.operations) examples[operation.operationId] = await record(operation, stage)
  return { examples, description }
}

async function record(operation: DescribedOperation, stage: Stage): Promise<Example> {
  const { request, own } = await stage.seedOf(operation)
  const parts = assembled(operation, request, own)
  const answer = await own.send(wireOf(parts))
  const type = String(answer.headers['content-type'] ?? '')
  const json = type.includes('json') && answer.body.length > 0
  return stable({
    ...(Object.keys(parts.path).length === 0 ? {} : { path: parts.path }),
    ...(parts.query.length === 0 ? {} : { query: Object.fromEntries(parts.query) }),
    ...(request.body === undefined ? {} : { body: request.body }),
    status: answer.status,
    ...(json && !self(operation) ? { answer: abridged(JSON.parse(answer.body.toString())) } : {}),
  }) as Example
}

/** The description is no example of itself. */
function self({ operationId }: DescribedOperation): boolean {
  return operationId === 'getOpenApi'
}

const longestArray = 2

/** Arrays by their first members: an example shows the shape. */
function abridged(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, longestArray).map(abridged)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, abridged(member)]))
}

const told: Record<string, unknown> = {
  access_token: 'R7vXw2bQm9sLk4Tz8cYp1aHd6eJf3gNu',
  refresh_token: 'K3nPq8rVt5wXy1zAb6cDe9fGh2jLm4Ns',
  token: 'R7vXw2bQm9sLk4Tz8cYp1aHd6eJf3gNu',
  request_id: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
  _uuid: '0f8fad5b-d9cb-469f-a165-70867728950e',
  num_cpu: 4,
  external_url: 'http://localhost:8080',
  version: '0.1.0',
  version_full: 'strongroom 0.1.0 (Node 26.10.0)',
}

/** Without what differs from run to run: times, tokens, unique ids, the machine. */
function stable(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => stable(one))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, stable(member, name)]))
  }
  if (typeof value === 'string' && key in told) return told[key]
  if (key === 'num_cpu') return told.num_cpu
  if (key === 'size' && typeof value === 'string') return '8192'
  if (typeof value !== 'string') return value
  return value.replace(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/, (time) =>
    time.startsWith(`${new Date().getUTCFullYear()}`) ? '2026-11-21T10:00:00.000Z' : time,
  )
}
