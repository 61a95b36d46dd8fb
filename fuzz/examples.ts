import type { Example } from '../src/system/openapi/examples.ts'
import type { DescribedOperation, Description } from './description.ts'
import { wireOf } from './request.ts'
import { secret } from './secrets.ts'
import { seeds } from './seeds.ts'
import { assembled, type Origin, type Stage, seedsOf } from './stage.ts'

/** Operations whose plain request is answered by an error, with its status. */
const refusals: Readonly<Record<string, number>> = {
  sendMail: 400,
  sendTestMail: 400,
  getErrorTest: 400,
  // Nothing runs.
  stopExport: 400,
  // The configuration does not allow it.
  purgeAll: 400,
  // The task is not running.
  cancelTask: 400,
  followShareLink: 301,
  streamEvents: 426,
  renamePasskey: 404,
  removePasskey: 404,
  logout: 204,
  logoutHere: 204,
  postLogout: 204,
  postLogoutHere: 204,
  createUpload: 201,
  continueUpload: 204,
  overrideUploadMethod: 204,
  cancelUpload: 204,
}

/**
 * Sends the seed of every operation to a service that holds the world, and keeps the requests and answers.
 * @throws {Error} when an operation has no seed, or one that is not carried out.
 */
export async function recordExamples({ description, stage: setStage }: Origin): Promise<Record<string, Example>> {
  const { operations } = description
  const unknown = Object.keys(seeds).filter((id) => !operations.some((one) => one.operationId === id))
  if (unknown.length > 0) throw new Error(`fuzz/seeds.ts has seeds of what does not exist: ${unknown.join(', ')}`)
  await using stage = await setStage()
  const examples: Record<string, Example> = {}
  const wrong: string[] = []
  for (const operation of operations) {
    const { operationId } = operation
    const example = await record(operation, stage).catch((error: Error) => error.message)
    if (typeof example === 'string') wrong.push(`${operationId}: ${example}`)
    else if (example.status === (refusals[operationId] ?? 200)) examples[operationId] = example
    else
      wrong.push(`the seed of ${operationId} is not carried out: ${example.status} ${JSON.stringify(example.answer)}`)
  }
  for (const operation of operations) wrong.push(...(await wrongUses(operation, stage, description)))
  if (wrong.length > 0) throw new Error(wrong.join('\n'))
  return examples
}

/** Further seeds are not used as examples, but must be carried out as well, or ask a question, and be answered as described. */
async function wrongUses(operation: DescribedOperation, stage: Stage, description: Description): Promise<string[]> {
  const wrong: string[] = []
  for (let use = 1; use < seedsOf(operation.operationId).length; use++) {
    const { request, own } = await stage.seedOf(operation, use)
    const { status, headers, body } = await own.send(wireOf(assembled(operation, request, own)))
    const type = String(headers['content-type'] ?? '')
    const other = description.judge(operation, { status, type, body })
    if (other !== null) wrong.push(`seed ${use} of ${operation.operationId}: ${other}`)
    if ([200, 202, 206, 303].includes(status)) continue
    wrong.push(`seed ${use} of ${operation.operationId} is not carried out: ${status} ${body.subarray(0, 1000)}`)
  }
  return wrong
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

/** Shortens arrays to their first members: an example shows the shape. */
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
  share_id: 'nV4kQ8sT2bXw6Zr1',
  _share_url: 'http://localhost:8080/collection/0f8fad5b-d9cb-469f-a165-70867728950e',
  blurhash: 'L3Eyb[?bfQ?b~qofj[ofj[fQj[fQ',
  _uuid: '0f8fad5b-d9cb-469f-a165-70867728950e',
  uuid: '0f8fad5b-d9cb-469f-a165-70867728950e',
  num_cpu: 4,
  // The run may be over or in progress.
  moveId: '2',
  size: 480732,
  external_url: 'http://localhost:8080',
  version: '0.1.0',
  version_full: 'strongroom 0.1.0 (Node 26.10.0)',
}

const archive = { filesize: 135_024, filename: 'backup-2-2026-11-21T10-00-00.tar.zst' }

const checked = {
  status: 'waiting',
  began_at: '2026-11-21T10:00:00.000Z',
  ended_at: '2026-11-21T10:00:00.000Z',
  checked: 12,
  last: null,
}

/** Without values that differ from run to run: times, tokens, unique ids, the machine. */
function stable(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => stable(one, key === 'pit_id' ? 'id' : ''))
  if (typeof value === 'object' && value !== null) {
    // The progress of a run through all files differs; a move without contents is over before it is read, or after.
    if ('percent_done' in value && ('checked' in value || 'moved' in value)) {
      const counts = Object.fromEntries(
        ['checked', 'queued', 'removed', 'moved'].filter((name) => name in value).map((name) => [name, 0]),
      )
      const begun = { status: 'running', percent_done: 0, ...counts, finished_at: null }
      return { ...value, ...begun, started_at: '2026-11-21T10:00:00.000Z' }
    }
    // The number of earlier events depends on background work.
    if ('_basetype' in value && value._basetype === 'event' && 'event' in value) {
      const event = stable({ ...(value.event as object), _id: 205 })
      return { ...(stable({ ...value, _basetype: null }) as object), _basetype: 'event', event }
    }
    if ('mimetype' in value && value.mimetype === 'application/zstd') return { ...value, ...archive }
    // The check of the index runs in the background.
    if ('surplus' in value && 'checked' in value) return { ...value, ...checked }
    // Sizes of renditions depend on the libraries that make them.
    if ('count' in value && 'size' in value && value.size !== told.size)
      return stable({ ...value, size: told.size }, key)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, stable(member, name)]))
  }
  if (key === 'size' && typeof value === 'string') return '8192'
  if (typeof value === 'string' && key in told) return told[key]
  if (key === 'num_cpu') return told.num_cpu
  if (key === 'es_time') return 3
  // Of share links.
  if (key === 'id' && typeof value === 'string' && /^[\dA-Za-z]{16}$/.test(value)) return told.share_id
  if (key === 'iat' && typeof value === 'number') return 1_795_255_200
  if (key === 'exp' && typeof value === 'number') return 1_795_341_600
  // Of sessions.
  if (
    (key === '_id' || key === 'id' || key === 'uploadId') &&
    /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(String(value))
  )
    return told._uuid
  if (typeof value !== 'string') return value
  // The description is public: it must not contain the marked secrets.
  const text = value
    .replaceAll(new RegExp(`${secret}[a-z]*`, 'g'), 'reserved')
    // The duration of a step.
    .replace(/^\d+ ms: /, '0 ms: ')
    .replace(/^(Backup|Files): \d+$/, '$1: 1000')
    .replace(/(x-svc-signature=|\/|^)[0-9a-z]{6}-[\w-]{32}(?=\/|$)/, '$1tpaaaa-signature')
    .replaceAll(/(?<=\/)[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?=\/|$)/g, `${told.uuid}`)
  return text.replace(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/, (time) =>
    time.startsWith(`${new Date().getUTCFullYear()}`) ? '2026-11-21T10:00:00.000Z' : time,
  )
}
