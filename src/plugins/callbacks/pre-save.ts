import {
  CallbackFailed,
  type PendingChange,
  type PendingObject,
  type Replacement,
  type SaveCallback,
} from '../../objects/service.ts'
import { signalOf } from '../../platform/limits/caller-signal.ts'
import type { Program } from '../manifest/model.ts'
import type { Plugin } from '../model.ts'
import { readAnswer, refusalError, refusalIn } from '../run/answer.ts'
import type { BegunTokens, Call, Caller } from '../run/call.ts'
import { collect, execute } from '../run/execute.ts'
import type { KeptProcesses } from '../run/keep.ts'
import type { Services } from '../run/programs.ts'
import { payloadOf, replacementsIn, type TableOf } from './payload.ts'

export interface PreSaveOptions {
  readonly caller: Caller
  readonly services: Services
  readonly kept: KeptProcesses
  /** Most bytes of an answer. */
  readonly mostOutput: number
  readonly tableOf: TableOf
}

export interface Answered {
  readonly body: unknown
  /** The program ended with another code than 0. */
  readonly failed: boolean
}

/** Runs the programs that are notified of changes of objects, and reads their answers. */
export function createCallbacks({ caller, services, kept, mostOutput, tableOf }: PreSaveOptions) {
  async function once(call: Call, program: Program, input: Buffer | AsyncIterable<Buffer>): Promise<Answered> {
    const said: Buffer[] = []
    const end = await execute({
      services,
      call,
      program,
      input,
      take: async (process) => {
        said.push(await collect(process, mostOutput))
      },
    })
    if (end.kind === 'broken') throw new CallbackFailed(`its program ${call.clean(end.reason)}`)
    const bytes = Buffer.concat(said)
    const body = bytes.length === 0 ? null : await readAnswer(bytes)
    if (end.code !== 0) {
      if (refusalIn(body, true)) return { body, failed: true }
      throw new CallbackFailed(`its program ended with the code ${end.code}`)
    }
    if (bytes.toString('latin1', 0, 100).trim() === '' && bytes.length < 100)
      throw new CallbackFailed('its answer is empty')
    if (body === undefined) throw new CallbackFailed('its answer is no JSON')
    return { body, failed: false }
  }

  async function ofKept(call: Call, { plugin, program }: { plugin: Plugin; program: Program }, input: Buffer) {
    const answer = await kept.call({
      key: keptKey(plugin, program),
      async start() {
        const [command] = program.commands
        if (!command) throw new CallbackFailed('has no command')
        const { root } = await call.folder()
        const folder = await call.keptFolder()
        const places = { pluginDir: root, workDir: folder, info: '' }
        return { command: await services.commandOf(program, command, places), folder }
      },
      input,
      limits: { ...call.limits, output: mostOutput },
      signal: call.signal,
    })
    call.note(answer.errors, answer.kind === 'failed')
    if (answer.kind === 'failed') throw new CallbackFailed(`its program ${call.clean(answer.reason)}`)
    return { body: answer.body, failed: false }
  }

  /** Sends the objects to the program, and reads its whole answer, with the objects in it. */
  async function askWhole(
    { plugin, program }: { plugin: Plugin; program: Program },
    change: Pick<PendingChange, 'actor' | 'behind' | 'deadline' | 'request'>,
    objects: readonly PendingObject[],
    more: Readonly<Record<string, unknown>> = {},
    begun?: BegunTokens,
  ): Promise<{ readonly replacements: readonly Replacement[]; readonly body: unknown }> {
    const { actor, behind, deadline, request = null } = change
    using waiting = signalOf(deadline)
    const answered = await caller.run(
      { plugin, program, actor, request, more, signal: waiting.signal, behind, begun },
      async (call) => {
        const input = await payloadOf(call.info, objects, tableOf)
        return program.keep ? ofKept(call, { plugin, program }, input) : once(call, program, input)
      },
    )
    const refusal = refusalIn(answered.body, answered.failed)
    if (refusal) throw refusalError(refusal)
    return { replacements: replacementsIn(answered.body, tableOf), body: answered.body }
  }

  async function ask(...asked: Parameters<typeof askWhole>): Promise<readonly Replacement[]> {
    return (await askWhole(...asked)).replacements
  }

  return {
    ask,
    askWhole,

    /**
     * Runs a program once; answers its output, parsed as JSON.
     * @throws {CallbackFailed} with a text that continues after its name.
     */
    say: once,

    /** The steps of a plugin, in the order of its manifest. Steps whose callback does not exist are left out. */
    stepsOf(plugin: Plugin): SaveCallback[] {
      return plugin.manifest.steps.flatMap(({ callback, objecttypes }) => {
        const program = plugin.manifest.preSave.get(callback)
        if (!program) return []
        return {
          name: `${plugin.name}:${callback}`,
          kinds: ['save'],
          ...(objecttypes ? { objecttypes } : {}),
          call: (change) => ask({ plugin, program }, change, change.objects),
          begin(actor) {
            const begun = caller.begin({ plugin, program, actor })
            return { call: (change) => ask({ plugin, program }, change, change.objects, {}, begun), end: begun.end }
          },
        } satisfies SaveCallback
      })
    },
  }
}

/** A kept process serves one version of a plugin. */
export function keptKey(plugin: Plugin, { path }: Program): string {
  return `${plugin.name} ${plugin.package?.toString('hex') ?? plugin.path} ${path}`
}
