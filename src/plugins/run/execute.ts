import type { Program } from '../manifest/model.ts'
import type { Call } from './call.ts'
import { type PluginProcess, startProcess } from './process.ts'
import type { Services } from './programs.ts'

export interface ExecuteOptions {
  readonly services: Services
  readonly call: Call
  readonly program: Program
  /** The input of the commands that take the body; a stream goes to the first of them only. */
  readonly input: Buffer | AsyncIterable<Buffer>
  /** Reads the output of the command that gives the answer. Resolves at its end. */
  readonly take: (process: PluginProcess) => Promise<void>
}

export type Executed =
  | { readonly kind: 'ended'; readonly code: number }
  | { readonly kind: 'broken'; readonly reason: string }

/** Runs the commands of a program one after the other in one empty folder, until one fails. */
export async function execute({ services, call, program, input, take }: ExecuteOptions): Promise<Executed> {
  const { root } = await call.folder()
  const folder = await call.workFolder()
  const info = JSON.stringify(call.info)
  const places = { pluginDir: root, workDir: folder, info }
  let taken = false
  for (const command of program.commands) {
    const given = command.takesInput && (Buffer.isBuffer(input) || !taken) ? input : null
    if (given !== null) taken = true
    if (call.signal.aborted) return { kind: 'broken', reason: reasonOf(call.signal) }
    const process = startProcess({
      command: await services.commandOf(program, command, places),
      folder,
      limits: { ...call.limits, seconds: command.seconds ?? call.limits.seconds },
      input: given,
      wantsOutput: command.givesOutput,
    })
    const onAbort = (): void => process.stop(reasonOf(call.signal))
    call.signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (command.givesOutput) await take(process)
      const end = await process.ended
      const failed = end.kind === 'broken' || end.code !== 0
      call.note(process.errors(), failed)
      if (end.kind === 'broken') return { kind: 'broken', reason: end.reason }
      if (end.code !== 0) return { kind: 'ended', code: end.code ?? -1 }
    } finally {
      call.signal.removeEventListener('abort', onAbort)
      process.stop('is over')
    }
  }
  return { kind: 'ended', code: 0 }
}

function reasonOf({ reason }: AbortSignal): string {
  return reason instanceof Error ? reason.message : 'was stopped'
}

/** The output of a program, up to so many bytes; a longer output ends the program. */
export async function collect({ output, stop }: PluginProcess, most: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of output as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > most) {
        stop(`said more than ${most} bytes`)
        return Buffer.alloc(0)
      }
      chunks.push(chunk)
    }
  } catch {
    // The stream was closed with its program; the end of the program tells why.
  }
  return Buffer.concat(chunks)
}
