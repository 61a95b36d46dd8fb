/** Rewrites docs/schema.sql from a database that has all migrations. */
import { writeFile } from 'node:fs/promises'
import { describeSchema, schemaFile } from '../test/support/schema-text.ts'

await writeFile(schemaFile, await describeSchema())
