import { traced } from '../tracing/spans.ts'
import { outgoingFacts } from './ask.ts'
import { bytesWithin, type OutgoingLimits } from './limits.ts'

/** Like `fetch`, for configured servers. */
export type OutgoingFetch = (address: string, init?: RequestInit) => Promise<Response>

/** Statuses whose answers must have no body. */
const withoutBody = [101, 103, 204, 205, 304]

/**
 * Sends requests to configured servers: the whole answer is read within the limits before the caller gets it, and redirects are
 * never followed (`redirect: 'manual'` returns them).
 * @throws {AnswerTooLong} or the errors of `fetch`, also when the time is over
 */
export function createOutgoingFetch(limits: OutgoingLimits): OutgoingFetch {
  return async (address, init = {}) =>
    traced(
      () => outgoingFacts(init.method ?? 'GET', new URL(address)),
      async (span) => {
        const response = await fetchWithin(limits, address, init)
        span?.set({ 'http.response.status_code': response.status })
        return response
      },
    )
}

async function fetchWithin(limits: OutgoingLimits, address: string, init: RequestInit): Promise<Response> {
  const given = init.signal ? [init.signal] : []
  const signal = AbortSignal.any([AbortSignal.timeout(limits.time), ...given])
  const redirect = init.redirect === 'manual' ? 'manual' : 'error'
  const response = await fetch(address, { ...init, redirect, signal })
  const { status, statusText, headers, body } = response
  const read = body === null ? null : await bytesWithin(body, limits.answer)
  return new Response(withoutBody.includes(status) ? null : read, { status, statusText, headers })
}
