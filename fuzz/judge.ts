import type { Caller } from './caller.ts'
import type { DescribedOperation, Description } from './description.ts'
import { shownTo } from './holders.ts'
import type { Turn } from './probe.ts'
import { secretIn } from './secrets.ts'
import type { FuzzedService } from './service.ts'
import type { WireAnswer, WireRequest } from './wire.ts'

export interface Limits {
  /** Milliseconds that an answer may take. */
  slow: number
  /** Milliseconds that one turn of the event loop may take while all other callers wait. */
  turn: number
  /** A picture that only root can see: its content cannot be found as text. */
  hidden: number
}

export interface Judgement {
  carriedOut: boolean
  milliseconds: number
  failure: { kind: string; detail: string } | null
  /** Other callers have waited: for this request, or for work left by an earlier one. */
  othersWaited?: boolean
  /** The caller's session has ended, so further requests would have no meaning. */
  lost: boolean
}

/** Sends the request and finds faults of the answer, or of its effects. */
export async function judge(
  service: FuzzedService,
  by: Caller,
  operation: DescribedOperation,
  wire: WireRequest,
  description: Description,
  limits: Limits,
): Promise<Judgement> {
  const before = await service.lastChange()
  return judged(service, by, operation, wire, description, limits, (answer) =>
    changeOf(service, before.id, answer, by, wire),
  )
}

/** The same among others that are sent at the same time: a visible change cannot be attributed to one of them. */
export function judgeTogether(
  service: FuzzedService,
  by: Caller,
  operation: DescribedOperation,
  wire: WireRequest,
  description: Description,
  limits: Limits,
): Promise<Judgement> {
  const alike = { ...limits, slow: 5 * limits.slow, turn: Number.POSITIVE_INFINITY }
  return judged(service, by, operation, wire, description, alike, async () => null)
}

async function judged(
  service: FuzzedService,
  by: Caller,
  operation: DescribedOperation,
  wire: WireRequest,
  description: Description,
  limits: Limits,
  change: (answer: WireAnswer) => Promise<Judgement['failure']>,
): Promise<Judgement> {
  const watched = limits.turn < Number.POSITIVE_INFINITY
  const earlier = watched && isLong(await service.turn(), limits)
  let answer: WireAnswer
  try {
    answer = await by.send(wire, 10 * limits.slow)
  } catch (error) {
    const detail = service.ended() ? 'the service ended' : (error as Error).message
    // The refusal of a head that is too large has a body, since the method HEAD was not read yet.
    if (wire.method === 'HEAD' && detail.includes('Parse Error')) {
      return { carriedOut: false, milliseconds: 0, failure: null, lost: false }
    }
    return { carriedOut: false, milliseconds: 0, failure: { kind: 'no answer', detail }, lost: false }
  }
  const long = watched && isLong(await service.turn(), limits)
  const failure =
    failureOf(answer, wire) ??
    leakOf(answer, by) ??
    pictureLeakOf(answer, by, wire, limits) ??
    (long && (await isLongAgain(service, by, wire, limits)) ? othersWait(limits) : null) ??
    (await slowness(answer, by, wire, limits)) ??
    (await change(answer)) ??
    descriptionOf(answer, operation, wire, description)
  return {
    carriedOut: answer.status > 0 && answer.status < 400,
    milliseconds: answer.milliseconds,
    failure,
    lost: sessionEnded(answer, by, wire),
    othersWaited: earlier || long,
  }
}

function failureOf({ status, body }: WireAnswer, wire: WireRequest): Judgement['failure'] {
  // Reaching a limit is no failure; taking long to reach it is judged separately.
  if (status >= 500 && codeOf(body) !== 'TimeLimitExceeded')
    return { kind: 'failure', detail: `${status} ${codeOf(body)}` }
  // Bytes that are not a request may get no answer.
  return status === 0 && !wire.bytes ? { kind: 'no answer', detail: 'the connection was closed' } : null
}

function codeOf(body: Buffer): string {
  return /"code": ?"(\w+)"/.exec(body.toString('latin1'))?.[1] ?? ''
}

/** Whether the answer reveals data that this caller may not see; root sees everything. */
function leakOf({ body, headers }: WireAnswer, by: Caller): Judgement['failure'] {
  if (by.name === 'root') return null
  const text = `${JSON.stringify(headers)}${body.toString('utf8')}`
  const place = secretIn(text, shownTo(by.name))
  if (place < 0) return null
  return { kind: 'leak', detail: `it tells ${JSON.stringify(text.slice(Math.max(0, place - 60), place + 20))}` }
}

/** No request has a signature of the hidden picture, so an answer depends only on the rights of the caller. */
function pictureLeakOf(
  { status }: WireAnswer,
  by: Caller,
  wire: WireRequest,
  { hidden }: Limits,
): Judgement['failure'] {
  const address = decodedPath(wire.target)
  const shown = status >= 200 && status < 300 && /^\/api\/v1\/eas\/(download|iiif|zoom)\/+0*(\d+)/.exec(address)
  if (by.name === 'root' || shownTo(by.name).includes('file') || wire.bytes || !shown || Number(shown[2]) !== hidden)
    return null
  return { kind: 'leak', detail: 'it shows a picture' }
}

function decodedPath(target: string): string {
  const [path = ''] = target.split('?', 1)
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Another process may have used the processor: only three slow answers in a row are attributed to the service. */
async function slowness(
  answer: WireAnswer,
  by: Caller,
  wire: WireRequest,
  { slow }: Limits,
): Promise<Judgement['failure']> {
  let { milliseconds } = answer
  for (let attempt = 0; attempt < 2 && milliseconds > slow; attempt++) {
    const again = await by.send(wire, 10 * slow).catch(() => null)
    milliseconds = Math.min(milliseconds, again?.milliseconds ?? Number.POSITIVE_INFINITY)
  }
  return milliseconds > slow ? { kind: 'slow', detail: `it takes more than ${slow} ms` } : null
}

const isLong = ({ worked, waited }: Turn, limits: Limits): boolean => worked > limits.turn || waited > limits.slow

export const othersWait = ({ turn }: Limits) => ({ kind: 'others wait', detail: `for more than ${turn} ms` })

/**
 * Whether other callers wait for this request whenever it is sent, `times` in a row. It measures the processor time of
 * the service's thread, which other processes do not lengthen; work left by an earlier request is done before.
 */
export async function isLongAgain(
  service: FuzzedService,
  by: Caller,
  wire: WireRequest,
  limits: Limits,
  times = 2,
): Promise<boolean> {
  for (let attempt = 0; attempt < times; attempt++) {
    await service.rest()
    await service.turn()
    await by.send(wire, 10 * limits.slow).catch(() => null)
    await service.rest()
    if (!isLong(await service.turn(), limits)) return false
  }
  return true
}

/** Downloads are logged: those of files, of results of exports and of harvested records. */
const logged = /\/(?:eas\/download|export|objects|oai)(?:[/?]|$)/

/** Checks that a request changes nothing when it is refused, asks a question, only reads or is a dry run. */
async function changeOf(
  service: FuzzedService,
  before: number,
  answer: WireAnswer,
  by: Caller,
  wire: WireRequest,
): Promise<Judgement['failure']> {
  const reads = wire.method === 'GET' || wire.method === 'HEAD' || wire.method === 'OPTIONS'
  const dry = /[?&]dry_run(=(1|true)?)?(&|$)/.test(wire.target)
  if (wire.bytes || (answer.status < 400 && answer.status !== 202 && !reads && !dry)) return null
  const after = await service.lastChange()
  if (after.id === before) return null
  if (after.table === 'event' && answer.status < 300 && logged.test(wire.target)) return null
  // Background work of an earlier request may be done now: the same must happen again.
  await service.rest()
  const settled = await service.lastChange()
  const again = await by.send(wire).catch(() => null)
  const now = await service.lastChange()
  if (!again || again.status !== answer.status || now.id === settled.id) return null
  return { kind: 'change', detail: `an answer ${answer.status} ${codeOf(answer.body)} changes ${now.table}` }
}

function descriptionOf(
  answer: WireAnswer,
  operation: DescribedOperation,
  wire: WireRequest,
  description: Description,
): Judgement['failure'] {
  // Answers of the layer below the operations are the same everywhere and described by HTTP itself.
  if ([408, 415, 417, 431].includes(answer.status)) return null
  if (wire.bytes || wire.method !== operation.method) return null
  const code = codeOf(answer.body)
  // A changed path may belong to another operation, or to none.
  if (code === 'UnknownEndpointMethod' || !addresses(operation, wire.target, description)) return null
  const type = String(answer.headers['content-type'] ?? '')
  try {
    if (answer.headers['content-encoding']) return null
    const detail = description.judge(operation, { status: answer.status, type, body: answer.body })
    return detail === null ? null : { kind: 'description', detail: `${detail} ${code}` }
  } catch (error) {
    return { kind: 'description', detail: `the answer is no JSON: ${(error as Error).message.slice(0, 100)}` }
  }
}

/** Whether the address is one of the operation and not, say, of `list` beside `{id}`: literal steps win over parameters. */
function addresses(operation: DescribedOperation, target: string, { operations }: Description): boolean {
  const got = (target.split('?', 1)[0] ?? '').split('/')
  const fitting = operations.filter(({ method, template }) => method === operation.method && fits(template, got))
  const fewest = Math.min(...fitting.map(openSteps))
  return fitting.includes(operation) && openSteps(operation) === fewest
}

const openSteps = ({ template }: DescribedOperation): number => template.split('{').length

function fits(template: string, got: readonly string[]): boolean {
  const steps = template.split('/')
  // The last step of such a template matches all that follow.
  const long = template.endsWith('{path}') && got.length > steps.length
  if (!long && got.length !== steps.length) return false
  return steps.every((step, index) => (step.startsWith('{') ? got[index] !== '' : step === got[index]))
}

function sessionEnded(answer: WireAnswer, by: Caller, wire: WireRequest): boolean {
  // Introspection refuses clients; a refresh refuses tokens other than those of the caller.
  if (/^\/api\/oauth2\/(introspect|refresh)/.test(wire.target)) return false
  return (
    answer.status === 401 && by.token !== null && wire.headers.authorization === `Bearer ${by.token}` && !wire.bytes
  )
}
