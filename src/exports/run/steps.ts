import type { ExportBody } from '../schema.ts'
import { dataFormats, pluginOf } from './formats.ts'

/**
 * The steps of a run, in order: `list` finds the objects, `files` plans their files, `each:<format>` makes a document of
 * each object, `data:<format>` one of all, `gone` lists objects that are no longer found, `plugin` lets a plugin change
 * the result, `transport` sends it.
 */
export type Step = string

export function stepsOf(body: ExportBody): readonly Step[] {
  const formats = dataFormats(body)
  return [
    'list',
    ...(Object.keys(body.eas_fields ?? {}).length > 0 ? ['files'] : []),
    ...formats.filter(({ each }) => each).map(({ name }) => `each:${name}`),
    ...formats.filter(({ each }) => !each).map(({ name }) => `data:${name}`),
    'gone',
    ...(pluginOf(body) === null ? [] : ['plugin']),
    'transport',
  ]
}

/** The step after the given one; `over` after the last. */
export function stepAfter(body: ExportBody, step: Step): Step {
  const steps = stepsOf(body)
  return steps[steps.indexOf(step) + 1] ?? 'over'
}
