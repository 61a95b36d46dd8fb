import { PassThrough, type Readable } from 'node:stream'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import type { RequestFacts } from '../../platform/http/request-facts.ts'
import type { Program } from '../manifest/model.ts'
import type { Plugin } from '../model.ts'
import { parsedJson, type Refusal, refusalIn } from '../run/answer.ts'
import type { Caller } from '../run/call.ts'
import { type Executed, execute } from '../run/execute.ts'
import type { PluginProcess } from '../run/process.ts'
import type { Services } from '../run/programs.ts'
import { contentTypeOf } from './answer.ts'

export interface ExtensionCall {
  readonly plugin: Plugin
  readonly program: Program & { readonly contentType: string | null }
  readonly actor: Actor
  readonly request: RequestFacts
  readonly body: AsyncIterable<Buffer>
  readonly signal: AbortSignal
}

export interface ExtensionAnswer {
  readonly type: string
  readonly body: Buffer | Readable
}

/** An extension has failed; `refusal`: the reason that it gave. */
export class ExtensionFailed extends AppError {
  readonly reason: string
  readonly refusal: Refusal | null

  constructor(plugin: Plugin, reason: string, refusal: Refusal | null) {
    const foreign = refusal
      ? { ...refusal.foreign, status: refusal.foreign.status }
      : { code: 'ServerGeneric', realm: 'api', status: 500 }
    const parameters = refusal?.parameters ?? { plugin: plugin.name, reason }
    super('ServerGeneric', parameters, { message: refusal?.message ?? `${plugin.name}: ${reason}`, foreign })
    this.reason = reason
    this.refusal = refusal
  }
}

/** Bytes that are held back until the program has ended. */
const heldBack = 4096

/**
 * Runs an extension. Short answers are complete before anything is sent, so that a failure gets an error status. Longer
 * answers are streamed to the client, and break off when the program fails. @throws {ExtensionFailed}
 */
export async function callExtension(
  { caller, services }: { readonly caller: Caller; readonly services: Services },
  { plugin, program, actor, request, body, signal }: ExtensionCall,
): Promise<ExtensionAnswer> {
  const begun = Promise.withResolvers<ExtensionAnswer>()
  const stop = new AbortController()
  const rest = new PassThrough()
  let streaming = false
  let head: Buffer[] = []
  let size = 0

  async function take({ output }: PluginProcess): Promise<void> {
    try {
      for await (const chunk of output as AsyncIterable<Buffer>) {
        if (streaming) await write(chunk)
        else {
          head.push(chunk)
          size += chunk.length
          if (size > heldBack) await begin()
        }
      }
    } catch {
      // The stream was closed with its program, or the client has left; the end of the program tells which.
    }
  }

  async function begin(): Promise<void> {
    streaming = true
    const first = Buffer.concat(head)
    head = []
    // When the client closes the connection, the program is stopped.
    rest.once('close', () => stop.abort(new AppError('ClientClosedRequest')))
    begun.resolve({ type: program.contentType ?? (await contentTypeOf(first)), body: rest })
    await write(first)
  }

  async function write(chunk: Buffer): Promise<void> {
    if (rest.destroyed) throw new Error('nobody takes the answer')
    if (rest.write(chunk)) return
    await new Promise<void>((resolve) => {
      const go = (): void => {
        rest.off('drain', go)
        rest.off('close', go)
        resolve()
      }
      rest.once('drain', go)
      rest.once('close', go)
    })
  }

  async function finish(end: Executed): Promise<void> {
    const reason = end.kind === 'broken' ? `the program ${end.reason}` : `the program ended with the code ${end.code}`
    const failed = end.kind === 'broken' || end.code !== 0
    if (streaming) {
      if (failed) rest.destroy(new Error(reason))
      else rest.end()
      return
    }
    const whole = Buffer.concat(head)
    const refusal = end.kind === 'ended' ? refusalIn(parsedJson(whole), failed) : null
    if (failed || refusal)
      throw new ExtensionFailed(plugin, refusal && !failed ? 'the program refused' : reason, refusal)
    begun.resolve({ type: program.contentType ?? (await contentTypeOf(whole)), body: whole })
  }

  const asked = { plugin, program, actor, request, signal: AbortSignal.any([signal, stop.signal]) }
  caller
    .run(asked, async (call) => {
      const end = await execute({ services, call, program, input: body, take })
      await finish(end.kind === 'broken' ? { kind: 'broken', reason: call.clean(end.reason) } : end)
    })
    .catch((error: unknown) => {
      const known = error instanceof AppError ? error : new ExtensionFailed(plugin, (error as Error).message, null)
      begun.reject(known)
      if (streaming) rest.destroy(known)
    })
  return begun.promise
}
