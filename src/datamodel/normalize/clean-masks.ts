import { badRequest } from '../../platform/errors.ts'
import { createChecker } from '../../platform/values/checker.ts'
import { limits } from '../limits.ts'
import { MaskApi, type MaskSchemaApi } from '../schema.ts'

const maskChecker = createChecker(MaskApi)

/**
 * Checks the JSON types of inline masks. The schema of the route cannot express them, because masks contain fields that contain
 * masks. Returns its argument.
 */
export function cleanMasks(input: MaskSchemaApi): MaskSchemaApi {
  for (const [at, mask] of input.masks.entries()) checkInline(mask.fields ?? [], `masks[${at}]`, 0)
  return input
}

function checkInline(fields: NonNullable<MaskApi['fields']>, path: string, depth: number): void {
  if (depth > limits.maskDepth)
    throw badRequest(`${path}: masks are nested deeper than ${limits.maskDepth} levels`, { path })
  for (const [at, field] of fields.entries()) {
    if (field.mask === undefined) continue
    const place = `${path}.fields[${at}].mask`
    const error = maskChecker.check(field.mask) ? undefined : maskChecker.misfit(field.mask)
    if (error) {
      throw badRequest(`${place}${error.instancePath.replaceAll('/', '.')} ${error.message}`, {
        path: `${place}${error.instancePath.replaceAll('/', '.')}`,
      })
    }
    checkInline(field.mask.fields ?? [], place, depth + 1)
  }
}
