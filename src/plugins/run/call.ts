import { rm } from 'node:fs/promises'
import type { Logger } from 'pino'
import { CallbackFailed } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { RequestFacts } from '../../platform/http/request-facts.ts'
import { createShares, type Shares } from '../../platform/limits/shares.ts'
import { withoutSecrets } from '../../platform/secrets/secret-forms.ts'
import type { Program } from '../manifest/model.ts'
import type { Plugin } from '../model.ts'
import type { Folders, PluginFolder } from '../packages/folders.ts'
import { whoOf } from './info.ts'
import type { ProcessLimits } from './process.ts'
import type { Services } from './programs.ts'

export interface CallerOptions {
  readonly folders: Pick<Folders, 'workFolder'>
  readonly folderOf: (plugin: Plugin) => Promise<PluginFolder>
  readonly services: Services
  readonly tokens: {
    issue(
      userIds: readonly number[],
      seconds: number,
    ): Promise<{ readonly ids: readonly string[]; readonly tokens: readonly string[] }>
    revoke(issued: { readonly ids: readonly string[]; readonly tokens: readonly string[] }): Promise<void>
  }
  /** The user that a program acts for besides the caller; null: only the caller. */
  readonly pluginUser: (plugin: Plugin, program: Program) => Promise<Actor | null>
  /** The base configuration for programs. */
  readonly config: (plugin: Plugin) => { readonly system: unknown; readonly plugin: unknown }
  readonly apiUrl: () => string
  readonly externalUrl: string
  readonly limits: { readonly seconds: number; readonly wait: number; readonly memory: number; readonly places: number }
  readonly log: Logger
}

export interface CallRequest {
  readonly plugin: Plugin
  readonly program: Program
  readonly actor: Actor
  readonly request: RequestFacts | null
  /** Further members of `info`. */
  readonly more?: Readonly<Record<string, unknown>>
  /** Texts that must not be in the log, besides the tokens. */
  readonly secrets?: readonly string[]
  readonly signal: AbortSignal
  /** The name of a separate set of places, other than that of callbacks and extensions. */
  readonly places?: string
  /** Takes the end of the call, so that its answer need not wait for it. */
  readonly behind?: ((work: Promise<unknown>) => void) | undefined
  /** The tokens of the call, if they are begun already. */
  readonly begun?: BegunTokens | undefined
}

/** Tokens that are issued while the input of their call is made. */
export interface BegunTokens {
  /** The tokens for the call, which revokes them; null: they have waited for too long. */
  take(): Promise<CallUsers> | null
  /** Revokes the tokens, unless a call has them. */
  end(): Promise<void>
}

/** The tokens of a call, and the user that its program acts for besides the caller. */
interface CallUsers {
  readonly issued: Issued
  readonly other: Actor | null
}

/** All places of the plugin's calls are taken: the caller may try again later. */
export class NoPlace extends CallbackFailed {}

/** A call that has its place and its tokens. */
export interface Call {
  readonly info: Readonly<Record<string, unknown>>
  /** The files of the plugin. */
  folder(): Promise<PluginFolder>
  readonly limits: ProcessLimits
  readonly signal: AbortSignal
  /** A new, empty folder, which is removed with the call. */
  workFolder(): Promise<string>
  /** A folder that outlives the call; the caller removes it. */
  keptFolder(): Promise<string>
  /** Writes a program's error output to the log, without secrets. */
  note(text: string, failed: boolean): void
  /** Removes tokens and other secrets from a text. */
  clean(text: string): string
}

/** Most calls of one plugin that may wait for a place. */
export const mostWaiting = 200
/** Seconds for which tokens are valid beyond the time of the program. */
const afterwards = 5
/** Milliseconds after which tokens that were issued before their call are replaced: they must be valid throughout the call. */
const longestBegun = 2000

type Issued = Awaited<ReturnType<CallerOptions['tokens']['issue']>>

export type Caller = ReturnType<typeof createCaller>

/** The common parts of all calls of programs: a place among those of the plugin, tokens, `info`, an end. */
export function createCaller(options: CallerOptions) {
  const { folders, folderOf, tokens, pluginUser, config, apiUrl, externalUrl, limits, log } = options
  /** Each plugin has its own places: a program that hangs delays only callers of the same plugin. */
  const places = new Map<string, Shares>()
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()

  function placesOf(name: string): Shares {
    const full = (): Error => new NoPlace('too many of its calls wait already')
    const known =
      places.get(name) ??
      createShares(limits.places, { most: mostWaiting, mostOfOne: mostWaiting, full, taken: full }, 0)
    places.set(name, known)
    return known
  }

  async function within<T>(request: CallRequest, work: (call: Call) => Promise<T>): Promise<T> {
    const { plugin, program, actor, signal } = request
    const { issued, other } = await (request.begun?.take() ?? issue(request))
    const [own = '', second = own] = issued.tokens
    const workFolders: string[] = []
    const clean = withoutSecrets([...issued.tokens, ...(request.secrets ?? [])])
    try {
      const info = {
        ...request.more,
        api_url: apiUrl(),
        external_url: externalUrl,
        api_user_access_token: own,
        api_user: whoOf(actor),
        tokens: { api_user: own, ...(program.pluginUser ? { plugin_user: second } : {}) },
        ...(program.pluginUser ? { plugin_user_access_token: second, plugin_user: whoOf(other ?? actor) } : {}),
        ...(request.request ? { request: request.request } : {}),
        config: configOf(plugin),
      }
      return await work({
        info,
        folder: () => folderOf(plugin),
        limits: { seconds: secondsOf(program), memory: limits.memory },
        signal,
        async workFolder() {
          const made = await folders.workFolder()
          workFolders.push(made)
          return made
        },
        keptFolder: folders.workFolder,
        clean,
        note(text, failed) {
          if (text.trim() === '') return
          log[failed ? 'warn' : 'info'](
            { plugin: plugin.name, program: program.path, said: clean(text) },
            'a plugin said',
          )
        },
      })
    } finally {
      const end = Promise.all([
        revoke(issued),
        ...workFolders.map((made) => rm(made, { recursive: true, force: true }).catch(() => {})),
      ])
      if (request.behind) request.behind(kept(end))
      else await end
    }
  }

  const revoke = (issued: Issued): Promise<void> =>
    tokens.revoke(issued).catch((error: unknown) => log.warn({ err: error }, 'tokens of a call end by themselves'))

  async function issue({
    plugin,
    program,
    actor,
  }: Pick<CallRequest, 'plugin' | 'program' | 'actor'>): Promise<CallUsers> {
    const other = program.pluginUser ? await pluginUser(plugin, program) : null
    const users = other && other.userId !== actor.userId ? [actor.userId, other.userId] : [actor.userId]
    const seconds = secondsOf(program) * program.commands.length + afterwards
    return { issued: await tokens.issue(users, seconds), other }
  }

  /** The service does not end before it is over. */
  function kept(work: Promise<unknown>): Promise<unknown> {
    running.add(work)
    return work.finally(() => running.delete(work))
  }

  function configOf(plugin: Plugin): Record<string, unknown> {
    const { system, plugin: own } = config(plugin)
    return { system, plugin: { [plugin.name]: own } }
  }

  function secondsOf(program: Program): number {
    const longest = Math.max(0, ...program.commands.map((command) => command.seconds ?? 0))
    return Math.max(program.seconds ?? 0, longest) || limits.seconds
  }

  return {
    /** Begins to issue the tokens of a call whose input is not known yet: the call takes them, or they must be ended. */
    begin(request: Pick<CallRequest, 'plugin' | 'program' | 'actor'>): BegunTokens {
      const at = performance.now()
      let taken = false
      const issuing = issue(request)
      // It is reported to the call, if there is one.
      issuing.catch(() => {})
      return {
        take() {
          if (taken || performance.now() - at > longestBegun) return null
          taken = true
          return issuing
        },
        async end() {
          if (taken) return
          taken = true
          const revoking = issuing.then(
            ({ issued }) => revoke(issued),
            () => {},
          )
          await kept(revoking)
        },
      }
    },

    /**
     * Runs the work when the caller gets one of the plugin's places.
     * @throws {Error} with a text that continues after the name of the plugin.
     */
    async run<T>(request: CallRequest, work: (call: Call) => Promise<T>): Promise<T> {
      const signal = AbortSignal.any([request.signal, closing.signal])
      signal.throwIfAborted()
      const waiting = new AbortController()
      const timer = setTimeout(
        () => waiting.abort(new NoPlace(`no place became free within ${limits.wait} seconds`)),
        1000 * limits.wait,
      )
      const { plugin, places: other } = request
      const done = placesOf(other === undefined ? plugin.name : `${plugin.name} ${other}`).run(
        `u${request.actor.userId}`,
        () => {
          clearTimeout(timer)
          return within({ ...request, signal }, work)
        },
        AbortSignal.any([signal, waiting.signal]),
      )
      running.add(done)
      try {
        return await done
      } finally {
        clearTimeout(timer)
        running.delete(done)
      }
    },

    async close(): Promise<void> {
      closing.abort(new CallbackFailed('was stopped, since the service ends'))
      // The calls, and what they tidy up behind themselves.
      while (running.size > 0) await Promise.allSettled(running)
    },
  }
}
