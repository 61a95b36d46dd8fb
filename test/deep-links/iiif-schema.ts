import { readFileSync } from 'node:fs'
import Ajv from 'ajv'
import formats from 'ajv-formats'
import type { Json } from '../support/client.ts'

/** The schema of the community's validator, where somebody has it: it comes without a licence. */
const schemaFile = process.env.IIIF_SCHEMA
export const official = (() => {
  if (!schemaFile) return null
  const ajv = new (Ajv as unknown as new (options: object) => Json)({ strict: false, allErrors: true })
  ;(formats as unknown as (ajv: Json) => void)(ajv)
  return ajv.compile(JSON.parse(readFileSync(schemaFile, 'utf8')))
})()
