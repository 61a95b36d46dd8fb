/** Programs of plugins that change an export, make files of it, and send it. */
import type { Readable } from 'node:stream'
import { CallbackFailed } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { RequestFacts } from '../../platform/http/request-facts.ts'
import type { createCallbacks } from '../callbacks/pre-save.ts'
import type { Program } from '../manifest/model.ts'
import type { Plugin, PluginSnapshot } from '../model.ts'
import { parsedJson, type Refusal, refusalError, refusalIn } from '../run/answer.ts'
import type { Call, Caller } from '../run/call.ts'
import { execute } from '../run/execute.ts'
import type { Services } from '../run/programs.ts'

/** `export` changes an export after its run and makes its files; `transport` sends it. */
export type ExportHook = 'export' | 'transport'

export interface ExportCall {
  /** `<plugin>:<procedure>`. */
  readonly name: string
  /** The user for the program's token. */
  readonly actor: Actor
  /** The request for which a file is made. */
  readonly request?: RequestFacts
  /** The export as JSON, in pieces: called once for each call of a program. */
  readonly document: () => AsyncIterable<Buffer>
  /** The action of the file to be made, as named by the program; empty: the call is about the whole export. */
  readonly action?: string
  readonly transport?: unknown
  readonly secrets?: readonly string[]
  readonly signal: AbortSignal
}

export type ExportPrograms = ReturnType<typeof createExportPrograms>

export interface ExportProgramOptions {
  readonly plugins: () => PluginSnapshot
  readonly caller: Caller
  readonly services: Services
  readonly say: ReturnType<typeof createCallbacks>['say']
}

/** Bytes of an export that may be in `%info.json%`, for programs that read no input; the system accepts no longer argument. */
const longestArgument = 120_000
/** Bytes of an output that may be a refusal. */
const longestRefusal = 4096

export function createExportPrograms({ plugins, caller, services, say }: ExportProgramOptions) {
  function find(hook: ExportHook, name: string): { readonly plugin: Plugin; readonly program: Program } | null {
    const colon = name.indexOf(':')
    const plugin = plugins().enabled.find((one) => one.name === name.slice(0, Math.max(0, colon)))
    const programs = hook === 'export' ? plugin?.manifest.exports : plugin?.manifest.exportTransports
    const program = programs?.get(name.slice(colon + 1))
    return plugin && program ? { plugin, program } : null
  }

  async function run<T>(
    hook: ExportHook,
    { name, actor, request, action = '', transport, secrets, signal, document }: ExportCall,
    work: (call: Call, program: Program, input: Buffer | AsyncIterable<Buffer>) => Promise<T>,
  ): Promise<T> {
    const found = find(hook, name)
    if (!found) throw new CallbackFailed('is not there, or the plugin is off')
    const { program } = found
    const more = { plugin_action: action, ...(transport === undefined ? {} : { transport }) }
    // Callbacks of saves do not wait for exports, and an export does not wait for a file that a program of the same
    // plugin makes for it.
    const places = action === '' ? 'exports' : 'files of exports'
    const asked = { ...found, actor, request: request ?? null, more, signal, places, ...(secrets ? { secrets } : {}) }
    return caller.run(asked, async (call) => {
      const info = {
        ...call.info,
        api_callback: { token: call.info.api_user_access_token, url: call.info.api_url },
      }
      if (program.commands.some(({ takesInput }) => takesInput)) {
        return work({ ...call, info }, program, payloadOf(info, more, document()))
      }
      const told = { ...info, export: await wholeOf(document()) }
      return work({ ...call, info: told }, program, Buffer.alloc(0))
    })
  }

  return {
    /** Whether an enabled plugin has a procedure of that name. */
    knows: (hook: ExportHook, name: string): boolean => find(hook, name) !== null,

    /**
     * Runs a program; answers its output, parsed as JSON.
     * @throws {CallbackFailed} with a text that continues after its name, {NoPlace} where it was not run
     */
    async ask(hook: ExportHook, call: ExportCall): Promise<unknown> {
      const { body, failed } = await run(hook, call, say)
      const refusal = refusalIn(body, failed)
      if (refusal) throw new CallbackFailed(`says: ${saidOf(refusal)}`)
      return body
    },

    /**
     * Has a program make a file: `take` reads its output, and answers with its length and its beginning.
     * @throws {AppError} the refusal of the program @throws {CallbackFailed} as `ask`
     */
    async make(
      call: ExportCall & { readonly action: string },
      take: (output: Readable) => Promise<{ readonly size: number; readonly head: Buffer }>,
    ): Promise<void> {
      await run('export', call, async (one, program, input) => {
        let taken: { readonly size: number; readonly head: Buffer } = { size: 0, head: Buffer.alloc(0) }
        const end = await execute({
          services,
          call: one,
          program,
          input,
          take: async ({ output }) => {
            taken = await take(output)
          },
        })
        if (end.kind === 'broken') throw new CallbackFailed(one.clean(end.reason))
        const failed = end.code !== 0
        const refusal = taken.size > longestRefusal ? null : refusalIn(parsedJson(taken.head), failed)
        if (refusal) throw refusalError(refusal)
        if (failed) throw new CallbackFailed(`ended with the code ${end.code}`)
      })
    },
  }
}

const saidOf = ({ foreign, message }: Refusal): string =>
  message === foreign.code ? message : `${foreign.code}: ${message}`

/** The input of a program. */
async function* payloadOf(info: object, more: object, document: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const told = JSON.stringify({ info, ...more })
  yield Buffer.from(`${told.slice(0, -1)},"export":`)
  yield* document
  yield Buffer.from('}')
}

/** @throws {CallbackFailed} where it is longer than an argument may be */
async function wholeOf(document: AsyncIterable<Buffer>): Promise<unknown> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of document) {
    size += piece.length
    if (size > longestArgument) {
      throw new CallbackFailed('reads no input, and the export is too long for %info.json%: give it stdin {type: body}')
    }
    pieces.push(piece)
  }
  return JSON.parse(Buffer.concat(pieces).toString('utf8')) as unknown
}
