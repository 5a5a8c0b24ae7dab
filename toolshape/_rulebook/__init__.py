"""The rules of a provider as requests: for each rule one that it refuses, and a twin that it accepts; asks a provider both."""
