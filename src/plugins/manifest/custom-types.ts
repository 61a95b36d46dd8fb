import { type CustomMember, memberTypes } from '../../datamodel/service.ts'
import type { AddedType, ConfigSection, Updater } from './model.ts'
import { readSetting, readSingleProgram, shortest } from './programs.ts'
import type { Place } from './reader.ts'

/** Records that an updater gets at a time: the limit, and the default. */
const mostAtOnce = 100
export const usualDays = 30

/** A type of values that columns may have as `custom:base.<plugin>.<name>`. */
export function readCustomType([name, entry]: [string, Place]): [string, AddedType] {
  if (!/^[A-Za-z][\w-]{0,99}$/.test(name)) throw entry.wrong('named by letters, digits, - and _')
  entry.knows('mapping', 'config', 'update')
  entry.at('config').object()
  const update = entry.at('update')
  return [
    name,
    {
      members: entry.at('mapping').members(200).flatMap(readMember),
      update: update.absent ? null : readUpdater(update),
    },
  ]
}

function readMember([name, entry]: [string, Place]): CustomMember[] {
  if (name === '' || name.length > 100 || name.includes('\0')) throw entry.wrong('named by at most 100 characters')
  entry.knows('type', 'skipTerms')
  const written = entry.at('type').text(64)
  const type = memberTypes.find((one) => one === written)
  if (type === undefined) {
    entry.ignored.add(entry.at('type').path)
    return []
  }
  return [{ name, type, terms: !entry.at('skipTerms').flag() }]
}

function readUpdater(update: Place): Updater {
  const program = readSingleProgram(update, 'timeout', 'batch_size', 'expires_days', 'interval_base_config')
  const interval = update.at('interval_base_config')
  return {
    program: { ...program, seconds: program.seconds ?? shortest(update.at('timeout').seconds()) },
    batchSize: Math.min(mostAtOnce, positive(update.at('batch_size'), mostAtOnce)),
    expiresDays: positive(update.at('expires_days'), usualDays),
    interval: interval.absent ? null : { ...readSetting(interval), path: interval.path },
  }
}

/** Places of settings that are no number of days: these have no effect. */
export function wrongIntervals(types: Iterable<AddedType>, baseConfig: readonly ConfigSection[]): string[] {
  return Array.from(types).flatMap(({ update }) => {
    if (!update?.interval) return []
    const { section, parameter, path } = update.interval
    const parameters = baseConfig.find(({ name }) => name === section)?.parameters ?? {}
    const definition = Object.hasOwn(parameters, parameter) ? parameters[parameter] : undefined
    return definition?.type === 'int' ? [] : [path]
  })
}

function positive(place: Place, usual: number): number {
  if (place.absent) return usual
  const { value } = place
  if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) > 36_500) {
    throw place.wrong('an integer of at least 1')
  }
  return value as number
}
