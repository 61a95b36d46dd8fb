import { realpath } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { sep } from 'node:path'
import { CallbackFailed } from '../../objects/service.ts'
import { findProgram } from '../../platform/process/foreign/network.ts'
import type { Command, Program } from '../manifest/model.ts'

/** The names of systems and processors in manifests. */
const goos = platform() === 'win32' ? 'windows' : platform()
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' }
const goarch = architectures[arch()] ?? arch()

export interface CallPlaces {
  readonly pluginDir: string
  readonly workDir: string
  /** The value of `%info.json%`. */
  readonly info: string
}

/** `node` is the service's own Node.js, `exec` is a program of the plugin itself, the others are programs of the machine. */
export function createServices(configured: readonly string[]) {
  const paths = new Map<string, string>([
    ['python3', 'python3'],
    ...configured.map((entry): [string, string] => {
      const at = entry.indexOf('=')
      return [entry.slice(0, at), entry.slice(at + 1)]
    }),
  ])

  async function programOf(service: string): Promise<string | null> {
    if (service === 'node') return process.execPath
    const path = paths.get(service)
    return path === undefined ? null : findProgram(path)
  }

  return {
    /** The reason why a program cannot run here; null: it can. */
    async problemOf({ service, commands, path }: Program): Promise<string | null> {
      const at = `${path}.exec`
      if (service === 'exec') return null
      if (service !== 'node' && !paths.has(service)) {
        return `${at}.service: there is no service ${service} here; svc.plugins.services adds one`
      }
      if ((await programOf(service)) === null) return `${at}.service: the program of ${service} is not on this machine`
      const other = commands.findIndex(({ prog }) => prog !== service)
      return other < 0 ? null : `${at}.commands.${other}.prog: the service ${service} runs ${service} only`
    },

    /** The command line. @throws {CallbackFailed} when it cannot be run. */
    async commandOf(program: Program, command: Command, places: CallPlaces): Promise<[string, ...string[]]> {
      const args = command.args.map((arg) => filled(arg, places))
      if (program.service === 'exec') return [await ownProgram(filled(command.prog, places), places.pluginDir), ...args]
      const path = command.prog === program.service ? await programOf(program.service) : null
      if (path === null) {
        throw new CallbackFailed(`${command.prog} of the service ${program.service} cannot be run here`)
      }
      return [path, ...args]
    },
  }
}

export type Services = ReturnType<typeof createServices>

/** A program of the plugin: no program of the machine with that name is run instead. */
async function ownProgram(prog: string, pluginDir: string): Promise<string> {
  const [path, root] = await Promise.all([realpath(prog).catch(() => null), realpath(pluginDir)])
  if (path?.startsWith(root + sep)) return path
  throw new CallbackFailed(`the plugin has no program ${prog.replace(`${pluginDir}/`, '')}`)
}

function filled(text: string, { pluginDir, workDir, info }: CallPlaces): string {
  const values: Readonly<Record<string, string>> = {
    '%info.json%': info,
    '%_exec.pluginDir%': pluginDir,
    '%_exec.workDir%': workDir,
    '%_exec.GOOS%': goos,
    '%_exec.GOARCH%': goarch,
  }
  return text.replaceAll(/%(?:info\.json|_exec\.(?:pluginDir|workDir|GOOS|GOARCH))%/g, (name) => values[name] ?? name)
}
