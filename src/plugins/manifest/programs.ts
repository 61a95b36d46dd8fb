import type { Command, PluginUser, Program } from './model.ts'
import type { Place } from './reader.ts'

/** The time limit of all programs, whatever the manifest says. */
export const longestSeconds = 3600

/** The same for programs that cannot answer several calls with one process. */
export function readSingleProgram(entry: Place, ...further: string[]): Program {
  const program = readProgram(entry, ...further)
  if (program.keep) throw entry.at('exec').at('keep').wrong('left out: only callbacks are asked over and over')
  return program
}

/** The members of a callback or an extension: `exec`, and the user for whom it acts. */
export function readProgram(entry: Place, ...further: string[]): Program {
  entry.knows('exec', 'plugin_user', ...further)
  const exec = entry.at('exec')
  if (exec.absent) throw exec.wrong('there: it says how the program is run')
  exec.knows('service', 'commands', 'timeout', 'timeoutSec', 'keep')
  const commands = exec.at('commands').items(20).map(readCommand)
  if (commands.length === 0) throw exec.at('commands').wrong('a list of at least one command')
  const keep = exec.at('keep').flag()
  const [only] = commands
  if (keep && (commands.length > 1 || !only?.takesInput || !only.givesOutput)) {
    throw exec.at('keep').wrong('left out, unless there is one command with stdin and stdout of the type body')
  }
  if (keep && only?.args.some((arg) => arg.includes('%info.json%'))) {
    throw exec.at('keep').wrong('left out where %info.json% is an argument: each call has another one')
  }
  return {
    path: entry.path,
    service: exec.at('service').text(64),
    seconds: shortest(exec.at('timeoutSec').seconds() ?? exec.at('timeout').seconds()),
    commands,
    keep,
    pluginUser: readPluginUser(entry.at('plugin_user')),
  }
}

function readCommand(command: Place): Command {
  command.knows('prog', 'args', 'stdin', 'stdout', 'stderr', 'timeoutSec')
  isBody(command.at('stderr'))
  return {
    prog: command.at('prog').text(1000),
    args: command.at('args').items(100).map(readArgument),
    takesInput: isBody(command.at('stdin')),
    givesOutput: isBody(command.at('stdout')),
    seconds: shortest(command.at('timeoutSec').seconds()),
  }
}

function readArgument(argument: Place): string {
  if (typeof argument.value === 'string') return argument.text()
  argument.knows('type', 'value')
  const type = argument.at('type').textOr('value', 64)
  if (type !== 'value') throw argument.at('type').wrong('value')
  return argument.at('value').text()
}

/** The manifest may give addresses in place of a body; these have never had an effect, and such a stream is empty. */
function isBody(stream: Place): boolean {
  if (stream.absent) return false
  stream.knows('type')
  const type = stream.at('type').textOr(null, 64)
  if (type !== null && type !== 'body') throw stream.at('type').wrong('body')
  return type === 'body'
}

function readPluginUser(user: Place): PluginUser | null {
  if (user.absent) return null
  user.knows('base_config', 'reference', 'optional')
  const optional = user.at('optional').flag()
  const reference = user.at('reference').textOr(null, 300)
  if (reference !== null) return { kind: 'reference', reference, optional }
  if (user.at('base_config').absent) {
    if (!optional) throw user.wrong('an object with base_config, reference or optional: true')
    return { kind: 'caller' }
  }
  return { kind: 'config', ...readSetting(user.at('base_config')) }
}

/** The name of a setting of the plugin. Names of sections may have dots; names of parameters may not. */
export function readSetting(place: Place): { readonly section: string; readonly parameter: string } {
  const setting = place.text(300)
  const dot = setting.lastIndexOf('.')
  if (dot < 1 || dot === setting.length - 1) throw place.wrong('<section>.<parameter>')
  return { section: setting.slice(0, dot), parameter: setting.slice(dot + 1) }
}

export function shortest(seconds: number | null): number | null {
  return seconds === null ? null : Math.min(seconds, longestSeconds)
}
