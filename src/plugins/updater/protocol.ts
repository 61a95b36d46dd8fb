/** The questions to updaters, and their answers: one JSON document each way for each step of a run. */
import { CallbackFailed } from '../../objects/service.ts'
import { isObject } from '../manifest/reader.ts'
import { linesOf, longestLine } from '../run/log-lines.ts'

export type Action = 'start_update' | 'update' | 'end_update'

/** A value in the form for updaters. */
export interface UpdaterObject {
  readonly identifier: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface UpdaterQuestion {
  readonly action: Action
  /** The state from its last answer; only the updater knows its meaning. */
  readonly state: unknown
  readonly objects?: readonly UpdaterObject[]
  readonly batch_info?: { readonly offset: number; readonly total: number }
}

export interface UpdaterAnswer {
  /** Undefined: the last state stays. */
  readonly state: unknown
  readonly log: readonly string[]
  /** Null: it has no values for these objects, and gets no further objects in this run. */
  readonly payload: readonly UpdaterObject[] | null
}

/** @throws {CallbackFailed} where it reports an error, or is not understood. */
export function readUpdaterAnswer(answer: unknown): UpdaterAnswer {
  if (!isObject(answer)) throw new CallbackFailed('its answer is no object')
  const { status_code: status } = answer
  const body = status === undefined ? answer : answer.body
  if (!isObject(body)) throw new CallbackFailed('its answer has no body')
  if (body.error !== undefined || (typeof status === 'number' && status >= 400)) {
    const said = typeof body.error === 'string' ? body.error : JSON.stringify(body.error ?? status)
    throw new CallbackFailed(`it says: ${said.slice(0, longestLine)}`)
  }
  return { state: body.state, log: linesOf(body.log), payload: payloadOf(body.payload) }
}

function payloadOf(payload: unknown): UpdaterObject[] | null {
  if (payload === undefined || payload === null) return null
  if (!Array.isArray(payload)) throw new CallbackFailed('its payload is no list')
  return payload.map((object: unknown, index) => {
    if (!isObject(object) || typeof object.identifier !== 'string' || !isObject(object.data)) {
      throw new CallbackFailed(`payload.${index} of its answer has no identifier and data`)
    }
    return { identifier: object.identifier, data: object.data }
  })
}
